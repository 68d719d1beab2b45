// Stands in for markdown-to-jsx: words of a schema are plain text here, never markup.
import type { ComponentChildren } from "preact";

export const Markdown = ({ children }: { children: ComponentChildren }) => children;
export default Markdown;
