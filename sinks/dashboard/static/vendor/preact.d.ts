// For tsc: the types of the package that preact.js comes from.
export * from "preact";
