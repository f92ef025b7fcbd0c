// Rejects the write of a former holder: node fences.js http://127.0.0.1:2379 jobs/nightly
const assert = require('assert');
const { Etcd3 } = require('etcd3');

/** A value that is written only with the highest fencing token so far. */
class Resource {
  highest = 0n;

  write(fence, value) {
    if (fence < this.highest) return false;
    [this.highest, this.value] = [fence, value];
    return true;
  }
}

async function main([endpoint, name]) {
  const client = new Etcd3({ hosts: endpoint });
  const fences = [];
  for (let round = 0; round < 2; round += 1) {
    const lock = client.election(name, 10).campaign('');
    await lock.wait();
    const claim = await client.get(await lock.getCampaignKey()).exec();
    fences.push(BigInt(claim.kvs[0].create_revision)); // 64 bits: more than a number of JavaScript
    await lock.resign();
  }
  client.close();
  const [earlier, later] = fences;
  const resource = new Resource();
  assert(resource.write(later, 'new') && !resource.write(earlier, 'old'));
  console.log(`rejected ${earlier} after ${later}`);
}

main(process.argv.slice(2));
