// Writes the types of the API: `node types.mjs gapless.d.ts`.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

import openapiTS, { astToString } from "openapi-typescript";

const source = new URL("openapi.json", import.meta.url);
const types = await openapiTS(source, {
  // A member with a default may be left out of a request.
  defaultNonNullable: false,
  rootTypes: true,
  rootTypesNoSchemaPrefix: true,
});
const hash = createHash("sha256").update(readFileSync(source)).digest("hex");

writeFileSync(
  process.argv[2],
  `// The types of the Gapless API for TypeScript. Written by \`make types\`; do not edit.
// SHA-256 of openapi.json: ${hash}

${astToString(types)}`,
);
