import '@fontsource-variable/archivo/wdth.css'
import '@fontsource/ibm-plex-mono/latin-400.css'
import '@fontsource/ibm-plex-mono/latin-600.css'
import DefaultTheme from 'vitepress/theme-without-fonts'
import type { Theme } from 'vitepress'
import Layout from './Layout.vue'
import Landing from './Landing.vue'
import './style.css'

export default {
  extends: DefaultTheme,
  Layout,
  enhanceApp({ app, siteData }) {
    app.component('Landing', Landing)
    // In search results, guides come before decisions. A function in the configuration would be
    // evaluated from its text, which the content security policy forbids.
    siteData.value.themeConfig.search.options.miniSearch.searchOptions.boostDocument = (id: string) =>
      /\/decisions\/|\/changelog\/|rough-edges/.test(id) ? 0.3 : /\/clients\//.test(id) ? 0.6 : 1
  }
} satisfies Theme
