export const codes = Object.freeze({
  PARSE: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL: -32603,
  PANIC: -32003,
});

/** Travels in a JSON-RPC answer, with HTTP status 200. */
export class RpcError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }

  toResponse(id) {
    return { jsonrpc: '2.0', id, error: { code: this.code, message: this.message } };
  }
}

export const invalidParams = (message) => new RpcError(codes.INVALID_PARAMS, message);
export const invalidRequest = (message) => new RpcError(codes.INVALID_REQUEST, message);
