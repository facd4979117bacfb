// Where the native binary lies, and the only `require` of one. A CommonJS file at the root of the package, because those
// who trace what a program needs (@vercel/nft: Next.js, Lambda) know node-gyp-build by the form that load() has.

exports.root = __dirname
exports.path = () => require('node-gyp-build').path(__dirname)
exports.load = () => require('node-gyp-build')(__dirname)
