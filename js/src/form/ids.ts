// Where a control is: a path, an element id made of it, and a JSON Pointer.

export type Path = readonly (string | number)[];

/** Between the parts of the form library's ids: no key holds it. */
export const SEPARATOR = "\u001f";

/** What the form library adds to the id and the name of a union's picker. */
const PICKER = "__anyof_select";

/** An element id without characters that references could not hold; no two paths share one. */
export const elementId = (id: string): string =>
  id.replace(/[^A-Za-z0-9-]/g, (c) =>
    c === SEPARATOR ? "." : `_${c.charCodeAt(0).toString(16)}_`,
  );

export const isPicker = (id: string): boolean => id.endsWith(PICKER);
export const pickerId = (id: string): string => `${elementId(id.slice(0, -PICKER.length))}:pick`;

export const errorId = (id: string): string => `${elementId(id)}:error`;
export const aboutId = (id: string): string => `${elementId(id)}:about`;
export const labelId = (id: string): string => `${elementId(id)}:label`;

export const pointer = (path: Path): string =>
  path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
