"""A plugin of pytest for the tests of python-etcd3, some of which connect to the client's default port.

They find the cluster at DEFAULT_ETCD_PORT instead.
"""

import os

import etcd3

port = int(os.environ["DEFAULT_ETCD_PORT"])
for function in (etcd3.client, etcd3.Etcd3Client.__init__):
    function.__defaults__ = tuple(port if it == 2379 else it for it in function.__defaults__)
