/** Makes the page's files: `npm run build -w console [FOLDER]`. Without a folder they go where the server has them. */
import { build } from "esbuild";
import { copyFile } from "node:fs/promises";

const folder = process.argv[2] ?? "../server/sidemirror_server/http/console/assets";
await build({
  entryPoints: ["src/page.tsx"],
  outfile: `${folder}/page.js`,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "eof",
});
for (const file of ["icon.svg", "index.html", "page.css"]) await copyFile(`src/${file}`, `${folder}/${file}`);
