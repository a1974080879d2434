// For tsc.
declare const htm: { bind(create: (this: any, ...parts: any[]) => any): (strings: TemplateStringsArray, ...values: any[]) => any };
export default htm;
