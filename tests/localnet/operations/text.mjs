/** Core accepts plain ASCII without control characters in names and domains (isStringValid). */
export const isPrintable = (bytes) => bytes.every((byte) => byte >= 0x20 && byte < 0x7f);
