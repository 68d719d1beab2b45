// Bundle the stand-in for VS Code's notebook webview. Usage: node build.mjs FOLDER
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = resolve(process.argv[2]);
const require = createRequire(import.meta.url);

await build({
  absWorkingDir: dirname(fileURLToPath(import.meta.url)),
  entryPoints: { webview: "./webview.js" },
  outdir: folder,
  bundle: true,
  format: "esm",
  alias: { path: "path-browserify" },
  // The first two are for Node only; the last is served beside the bundle.
  external: ["ws", "node-fetch", "/bundle/*"],
  define: { global: "globalThis", "process.env.NODE_ENV": '"production"' },
  banner: { js: "globalThis.process ??= { env: {}, argv: [], cwd: () => '/' };" },
  logLevel: "warning",
});
// As they are shipped: the widget manager that VS Code loads, and RequireJS as a classic script.
const asShipped = {
  "ipywidgets.js": "@vscode/jupyter-ipywidgets8/dist/ipywidgets.js",
  "require.js": "requirejs/require.js",
};
for (const [name, source] of Object.entries(asShipped)) {
  await writeFile(`${folder}/${name}`, await readFile(require.resolve(source)));
}
