// For tsc: the types of the package that hooks.js comes from.
export * from "preact/hooks";
