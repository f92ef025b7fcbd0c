// Rejects the write of a former holder:
// java -cp 'jetcd/*' Fences.java http://127.0.0.1:2379 jobs/nightly
import static java.nio.charset.StandardCharsets.UTF_8;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;

class Fences {
    /** A value that is written only with the highest fencing token so far. */
    static class Resource {
        private long highest;
        private String value;

        boolean write(long fence, String value) {
            if (fence < highest) {
                return false;
            }
            highest = fence;
            this.value = value;
            return true;
        }
    }

    public static void main(String[] arguments) throws Exception {
        long[] fences = new long[2];
        try (Client client = Client.builder().endpoints(arguments[0]).build()) {
            ByteSequence name = ByteSequence.from(arguments[1], UTF_8);
            long lease = client.getLeaseClient().grant(10).get().getID();
            for (int round = 0; round < 2; round++) {
                ByteSequence key = client.getLockClient().lock(name, lease).get().getKey();
                fences[round] =
                    client.getKVClient().get(key).get().getKvs().get(0).getCreateRevision();
                client.getLockClient().unlock(key).get();
            }
            client.getLeaseClient().revoke(lease).get();
        }
        Resource resource = new Resource();
        if (!resource.write(fences[1], "new") || resource.write(fences[0], "old")) {
            throw new AssertionError("the stale write was accepted");
        }
        System.out.println("rejected " + fences[0] + " after " + fences[1]);
    }
}
