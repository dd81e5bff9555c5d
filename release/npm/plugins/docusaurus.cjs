'use strict';
// A plugin of Docusaurus: plugins: [['slipway/docusaurus', { host: 'cloudflare' }]].

const { build } = require('./build.cjs');

module.exports = function slipway(context, options) {
  return {
    name: 'slipway',
    async postBuild({ outDir, siteDir }) {
      // One server for all languages: it is built with the default one.
      if (context.i18n.currentLocale !== context.i18n.defaultLocale) return;
      await build(siteDir ?? context.siteDir, outDir, options, console);
    },
  };
};

module.exports.validateOptions = ({ options }) => {
  const known = ['id', 'host', 'baseUrl', 'folder', 'args', 'program'];
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) throw new Error(`slipway: unknown option ${name}; the options are ${known.slice(1).join(', ')}`);
  }
  return options;
};
