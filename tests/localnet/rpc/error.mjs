export const codes = Object.freeze({
  PARSE: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL: -32603,
  PANIC: -32003,
});

/** A JSON-RPC error, sent with HTTP status 200. `data` is optional. */
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

/** The error of a handler about parameters that it has read. */
export const invalidParams = (message) => new RpcError(codes.INVALID_PARAMS, message);
export const invalidRequest = (message) => new RpcError(codes.INVALID_REQUEST, message);
export const internalError = (message) => new RpcError(codes.INTERNAL, message);

/** The error of the server about unreadable parameters; `data` names the parameter. */
export const unreadableParams = (data) => new RpcError(codes.INVALID_PARAMS, 'invalid parameters', data);
