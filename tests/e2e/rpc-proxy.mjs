// An HTTP server in front of an RPC, for tests in which some calls must fail or get another response.
import http from 'node:http';
import https from 'node:https';

/**
 * handle(call, forward, headers) sees each call and decides its response: an object is sent as JSON, a number as an HTTP status, null closes the
 * connection, and a function writes the response itself. forward() executes the call and resolves to the RPC's response. When the RPC does not
 * answer, because a test has stopped it, the connection is closed too. tls: {key, cert} of an https server. Returns {url, close(), hangUp()},
 * which closes the connections.
 */
export async function proxyRpc(target, handle, tls) {
  const server = (tls ? https : http).createServer({ ...tls }, async (request, response) => {
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
  return { url: `http${tls ? 's' : ''}://127.0.0.1:${server.address().port}`, close: () => server.close().closeAllConnections(),
    hangUp: () => server.closeAllConnections() };
}
