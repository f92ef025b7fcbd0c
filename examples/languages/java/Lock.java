// Holds a lock until the end of the standard input:
// java -cp 'jetcd/*' Lock.java http://127.0.0.1:2379 jobs/nightly
import static java.nio.charset.StandardCharsets.UTF_8;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.support.Observers;

class Lock {
    public static void main(String[] arguments) throws Exception {
        try (Client client = Client.builder().endpoints(arguments[0]).build()) {
            long lease = client.getLeaseClient().grant(10).get().getID();
            client.getLeaseClient().keepAlive(lease, Observers.<LeaseKeepAliveResponse>builder()
                .onError(error -> System.exit(1)).onCompleted(() -> System.exit(1)).build());
            ByteSequence name = ByteSequence.from(arguments[1], UTF_8);
            ByteSequence key = client.getLockClient().lock(name, lease).get().getKey();
            long fence = client.getKVClient().get(key).get().getKvs().get(0).getCreateRevision();
            System.out.println("fence " + fence);
            System.in.readAllBytes(); // the work
            client.getLockClient().unlock(key).get();
            System.exit(0);
        }
    }
}
