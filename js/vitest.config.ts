import { existsSync } from "node:fs";
import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";

// Debian's browser where it is; elsewhere the one that Playwright installed.
const chromium = process.env.HITL_CHROMIUM ?? "/usr/bin/chromium";

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [
    {
      // The same as in build.mjs: a style sheet is text.
      name: "css-text",
      enforce: "pre",
      resolveId: (id, importer) =>
        id.endsWith(".css") && importer
          ? `\0text:${new URL(id, `file://${importer}`).pathname}.txt`
          : null,
      async load(id) {
        if (!id.startsWith("\0text:")) return null;
        const { readFile } = await import("node:fs/promises");
        const text = await readFile(id.slice(6, -4), "utf8");
        return `export default ${JSON.stringify(text)}`;
      },
    },
  ],
  // The same as in build.mjs.
  resolve: {
    alias: [
      { find: "react/jsx-runtime", replacement: "preact/jsx-runtime" },
      { find: /^react$/, replacement: "preact/compat" },
      {
        find: "markdown-to-jsx/react",
        replacement: new URL("src/form/no-markdown.ts", import.meta.url).pathname,
      },
      { find: "fast-uri", replacement: new URL("src/form/no-uri.ts", import.meta.url).pathname },
      {
        find: "fast-equals",
        replacement: new URL("src/form/no-fast-equals.ts", import.meta.url).pathname,
      },
      {
        find: "react-is",
        replacement: new URL("src/form/no-react-is.ts", import.meta.url).pathname,
      },
      {
        find: "own-registry",
        replacement: new URL("src/form/registry.ts", import.meta.url).pathname,
      },
    ],
  },
  // Packages are bundled beforehand; our part of them is joined when they are served.
  optimizeDeps: {
    include: [
      "@cfworker/json-schema",
      "@rjsf/core/lib/components/Form.js",
      "@rjsf/core/lib/components/fields/ArrayField.js",
      "@rjsf/core/lib/components/fields/BooleanField.js",
      "@rjsf/core/lib/components/fields/MultiSchemaField.js",
      "@rjsf/core/lib/components/fields/ObjectField.js",
      "@rjsf/core/lib/components/fields/SchemaField.js",
      "@rjsf/core/lib/components/fields/StringField.js",
      "@rjsf/utils",
      "preact/compat",
    ],
    rolldownOptions: {
      plugins: [
        {
          name: "own-registry",
          resolveId: (id) =>
            id.endsWith("/getDefaultRegistry.js") ? { id: "own-registry", external: true } : null,
        },
      ],
    },
  },
  server: { fs: { allow: [".."] } },
  test: {
    include: ["tests/**/*.test.{ts,tsx}"],
    // Most of the time is spent waiting: presses count only after a while.
    maxWorkers: 2,
    browser: {
      enabled: true,
      headless: true,
      screenshotFailures: false,
      viewport: { width: 900, height: 1200 },
      provider: playwright({
        launchOptions: {
          args: ["--no-sandbox", "--disable-dev-shm-usage"],
          ...(existsSync(chromium) ? { executablePath: chromium } : {}),
        },
      }),
      instances: [{ browser: "chromium" }],
    },
  },
});
