// Leads until the end of the standard input: node elect.js http://127.0.0.1:2379 scheduler host-7
// The queue is `election/scheduler`, so `tenure elect election/scheduler` is a candidate beside it.
const { Etcd3 } = require('etcd3');
const { once } = require('events');

async function main([endpoint, name, value]) {
  const client = new Etcd3({ hosts: endpoint });
  const campaign = client.election(name, 10).campaign(value);
  campaign.on('error', error => { console.error('leadership lost:', error.message); process.exit(1); });
  await once(campaign, 'elected');
  const claim = await client.get(await campaign.getCampaignKey()).exec();
  console.log('fence', claim.kvs[0].create_revision);
  await once(process.stdin.resume(), 'end'); // the work of a leader
  await campaign.resign();
  client.close();
}

main(process.argv.slice(2));
