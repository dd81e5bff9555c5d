'use strict';
// A hook of VitePress: import slipway from 'slipway/vitepress'; export default { buildEnd: slipway({ host: 'cloudflare' }) }.

const { build } = require('./build.cjs');

module.exports = function slipway(options = {}) {
  return async (config) => {
    const { logger } = config;
    await build(config.root, config.outDir, options, logger ?? console);
  };
};
