// Holds a lock until the end of the standard input: node lock.js http://127.0.0.1:2379 jobs/nightly
// It waits in the queue `election/jobs/nightly`. The class `Lock` of this library has no queue.
const { Etcd3 } = require('etcd3');
const { once } = require('events');

async function main([endpoint, name]) {
  const client = new Etcd3({ hosts: endpoint });
  const lock = client.election(name, 10).campaign('');
  lock.on('error', error => { console.error('lock lost:', error.message); process.exit(1); });
  await once(lock, 'elected');
  const claim = await client.get(await lock.getCampaignKey()).exec();
  console.log('fence', claim.kvs[0].create_revision);
  await once(process.stdin.resume(), 'end'); // the work
  await lock.resign();
  client.close();
}

main(process.argv.slice(2));
