export const codes = Object.freeze({
  PARSE: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL: -32603,
  PANIC: -32003,
});

/** Travels in a JSON-RPC answer, with HTTP status 200. `data` is optional. */
export class RpcError extends Error {
  constructor(code, message, data) {
    super(message);
    this.code = code;
    this.data = data;
  }

  toResponse(id) {
    const { code, message, data } = this;
    return { jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } };
  }
}

/** What a handler says of parameters that it has read. */
export const invalidParams = (message) => new RpcError(codes.INVALID_PARAMS, message);
export const invalidRequest = (message) => new RpcError(codes.INVALID_REQUEST, message);
export const internalError = (message) => new RpcError(codes.INTERNAL, message);

/** What the server says of parameters that cannot be read; `data` names the one that is wrong. */
export const unreadableParams = (data) => new RpcError(codes.INVALID_PARAMS, 'invalid parameters', data);
