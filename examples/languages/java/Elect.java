// Leads until the end of the standard input:
// java -cp 'jetcd/*' Elect.java http://127.0.0.1:2379 scheduler host-7
import static java.nio.charset.StandardCharsets.UTF_8;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.election.LeaderKey;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.support.Observers;

class Elect {
    public static void main(String[] arguments) throws Exception {
        try (Client client = Client.builder().endpoints(arguments[0]).build()) {
            long lease = client.getLeaseClient().grant(10).get().getID();
            client.getLeaseClient().keepAlive(lease, Observers.<LeaseKeepAliveResponse>builder()
                .onError(error -> System.exit(1)).onCompleted(() -> System.exit(1)).build());
            ByteSequence name = ByteSequence.from(arguments[1], UTF_8);
            ByteSequence value = ByteSequence.from(arguments[2], UTF_8);
            LeaderKey leader =
                client.getElectionClient().campaign(name, lease, value).get().getLeader();
            System.out.println("fence " + leader.getRevision());
            System.in.readAllBytes(); // the work of a leader
            client.getElectionClient().resign(leader).get();
            System.exit(0);
        }
    }
}
