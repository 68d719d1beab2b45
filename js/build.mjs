// Build the one bundle that the hub widget carries, and the notices of what is inside it.
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const staticDir = join(here, "..", "hitl_widgets", "screen", "static");

/** Style sheets are imported as minified text: the bundle adopts them itself, per root. */
export const cssText = {
  name: "css-text",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, "utf8"), {
        loader: "css",
        minify: true,
        target: "chrome111",
      });
      return { contents: code, loader: "text" };
    });
  },
};

/** The form library's parts are chosen in src/form/registry.ts. */
export const ownRegistry = {
  name: "own-registry",
  setup({ onResolve }) {
    onResolve({ filter: /\/getDefaultRegistry\.js$/ }, () => ({
      path: join(here, "src", "form", "registry.ts"),
    }));
  },
};

/** The languages' tables have the same keys: they are written once, in English. */
export const sameKeys = {
  name: "same-keys",
  setup({ onLoad }) {
    onLoad({ filter: /words[/\\][a-z]+\.json$/ }, async ({ path }) => {
      if (path.endsWith("en.json")) return null;
      const [en, words] = await Promise.all(
        [join(dirname(path), "en.json"), path].map(async (file) =>
          JSON.parse(await readFile(file, "utf8")),
        ),
      );
      const values = JSON.stringify(Object.keys(en).map((key) => words[key]));
      const contents = `import en from "./en.json";
        const values = ${values};
        export default Object.fromEntries(Object.keys(en).map((key, i) => [key, values[i]]));`;
      return { contents, resolveDir: dirname(path) };
    });
  },
};

export const options = {
  absWorkingDir: here,
  entryPoints: ["src/main.tsx"],
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  // The form library is written for React; words of a schema are never markup.
  alias: {
    react: "preact/compat",
    "react/jsx-runtime": "preact/jsx-runtime",
    "markdown-to-jsx/react": "./src/form/no-markdown.ts",
    "fast-uri": "./src/form/no-uri.ts",
    "react-is": "./src/form/no-react-is.ts",
    "fast-equals": "./src/form/no-fast-equals.ts",
  },
  plugins: [cssText, ownRegistry, sameKeys],
};

/** The license text of every package that ends up in the bundle, in a fixed order. */
async function notices(inputs) {
  const packages = new Set();
  for (const path of inputs) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path.split(sep).join("/"));
    if (match) packages.add(match[1]);
  }
  const parts = ["Third-party code in hub.js, with its licenses.\n"];
  for (const name of [...packages].sort()) {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const text = await licenseText(folder);
    parts.push(`${"=".repeat(78)}\n${name} ${version} (${license})\n\n${text.trim()}\n`);
  }
  return parts.join("\n");
}

// For a package that names this license and leaves out its text.
const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`;

async function licenseText(folder) {
  for (const name of ["LICENSE", "LICENSE.md", "LICENSE.txt", "license"]) {
    try {
      return await readFile(join(folder, name), "utf8");
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
  }
  const { author, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  if (license === "MIT" && author) return `Copyright (c) ${author}\n\n${MIT}`;
  throw new Error(`${folder} has no license file: its notice can not be kept.`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const result = await build({
    ...options,
    outfile: join(staticDir, "hub.js"),
    metafile: true,
    logLevel: "warning",
  });
  await writeFile(
    join(staticDir, "NOTICES.txt"),
    await notices(Object.keys(result.metafile.inputs)),
  );
}
