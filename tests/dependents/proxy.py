"""A proxy that ends TLS in front of a server that speaks HTTP/2 without it."""

import asyncio, ssl, threading


class TlsProxy:
    """Forwards each TLS connection to a port of 127.0.0.1. Entering the context returns its own port."""

    def __init__(self, target, certificate, key):
        self.target = target
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.context.set_alpn_protocols(["h2"])
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        starting = asyncio.start_server(self.forward, "127.0.0.1", 0, ssl=self.context)
        self.server = asyncio.run_coroutine_threadsafe(starting, self.loop).result(30)
        return self.server.sockets[0].getsockname()[1]

    def __exit__(self, *_):
        asyncio.run_coroutine_threadsafe(self.close(), self.loop).result(30)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    async def close(self):
        self.server.close()
        forwarding = asyncio.all_tasks() - {asyncio.current_task()}
        for task in forwarding:
            task.cancel()
        await asyncio.gather(*forwarding, return_exceptions=True)

    async def forward(self, reader, writer):
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(copy(reader, server_writer), copy(server_reader, writer))


async def copy(reader, writer):
    """Copies bytes until either side is closed, and then closes the writer."""
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except (OSError, ssl.SSLError):
        pass
    finally:
        writer.close()
