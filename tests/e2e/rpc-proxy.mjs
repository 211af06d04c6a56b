// An HTTP server in front of an RPC, for tests in which some calls must fail or get another response.
import assert from 'node:assert/strict';
import http from 'node:http';
import http2 from 'node:http2';

/**
 * handle(call, forward, headers) sees each call and decides its response: an object is sent as JSON, a number as an HTTP status, null closes the
 * connection, and a function writes the response itself. forward() executes the call and resolves to the RPC's response. When the RPC does not
 * answer, because a test has stopped it, the connection is closed too. tls: {key, cert} of an https server, of HTTP/2 too, which fairway
 * does not choose. Returns {url, close(), hangUp()},
 * which closes the connections.
 */
export async function proxyRpc(target, handle, tls) {
  const server = tls ? http2.createSecureServer({ ...tls, allowHTTP1: true }) : http.createServer();
  const sockets = new Set(), hangUp = () => sockets.forEach(socket => socket.destroy());
  server.on('connection', socket => sockets.add(socket.on('close', () => sockets.delete(socket))));
  server.on('request', async (request, response) => {
    assert.equal(request.httpVersion, '1.1');
    const body = await Array.fromAsync(request).then(Buffer.concat, () => null);
    if (body === null) // the client is gone
      return;
    let stopped = false;
    const forward = async () => {
      try {
        return await (await fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json();
      } catch (error) {
        stopped = true;
        throw error;
      }
    };
    const answer = await handle(JSON.parse(body), forward, request.headers).catch(error => {
      if (!stopped)
        throw error;
      return null;
    });
    if (answer === null)
      request.socket.destroy();
    else if (typeof answer === 'number')
      response.writeHead(answer).end();
    else if (typeof answer === 'function')
      answer(response);
    else
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  });
  await new Promise(listening => server.listen(0, '127.0.0.1', listening));
  server.unref(); // a test that fails before it calls close() must not keep its process alive
  return { url: `http${tls ? 's' : ''}://127.0.0.1:${server.address().port}`, hangUp,
    close() {
      server.close();
      hangUp();
    } };
}
