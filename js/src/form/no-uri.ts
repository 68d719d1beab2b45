// Stands in for fast-uri: a prepared schema refers only into itself, so nothing is ever resolved.
export function resolve(_base: string, uri: string): string {
  throw new Error(`hitl-widgets: a form's schema refers to ${uri}`);
}
export default { resolve };
