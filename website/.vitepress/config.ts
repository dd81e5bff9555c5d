import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { releases } from '../lib/changelog.ts'
import { markdown } from '../lib/markdown.ts'
import { sidebar } from '../lib/navigation.ts'
import { excluded, rewrites } from '../lib/pages.ts'
import { moveScripts, policy, writeScripts } from '../lib/policy.ts'
import { accessibleSearch } from '../lib/search.ts'
import { base, branch, description, name, repository, siteURL } from '../lib/site.ts'

const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  lang: 'en',
  title: name,
  description,
  base,
  srcDir: '..',
  srcExclude: excluded,
  rewrites: {
    ...rewrites,
    ...Object.fromEntries(releases.map((r) => [`website/changelog/${r}.md`, `changelog/${r}.md`]))
  },
  outDir: process.env.SLIPWAY_SITE_OUT || folder('dist'),
  cacheDir: folder('cache'),
  cleanUrls: true,
  metaChunk: true,
  appearance: { disableTransition: false }, // which would need a style element
  lastUpdated: false,
  ignoreDeadLinks: true, // checks/links.mjs checks the finished pages, anchors included
  sitemap: { hostname: siteURL },
  head: [
    ['meta', { 'http-equiv': 'Content-Security-Policy', content: policy }],
    ['meta', { name: 'theme-color', content: '#fbfaf6', media: '(prefers-color-scheme: light)' }],
    ['meta', { name: 'theme-color', content: '#0b161d', media: '(prefers-color-scheme: dark)' }],
    ['meta', { property: 'og:site_name', content: name }],
    ['meta', { property: 'og:type', content: 'website' }],
    ['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}mark.svg` }],
    ['link', { rel: 'alternate', type: 'text/plain', title: 'llms.txt', href: `${base}mcp/llms.txt` }]
  ],
  markdown,
  themeConfig: {
    logo: { src: '/mark.svg', alt: '' },
    siteTitle: name,
    nav: [
      { text: 'Guides', link: '/docs/getting-started', activeMatch: '^/docs/(?!cli|decisions|reference)' },
      { text: 'Reference', link: '/docs/cli', activeMatch: '^/docs/(cli|reference)' },
      { text: 'Decisions', link: '/docs/decisions/', activeMatch: '^/docs/decisions' },
      { text: 'Changelog', link: `/changelog/${releases[0]}`, activeMatch: '^/changelog' }
    ],
    sidebar: sidebar(releases),
    outline: { level: [2, 3], label: 'On this page' },
    search: { provider: 'local', options: { detailedView: true, miniSearch: { searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } } } } },
    socialLinks: [{ icon: 'github', link: repository, ariaLabel: 'Source code on GitHub' }],
    editLink: {
      pattern: `${repository}/edit/${branch}/:path`,
      text: 'Edit this page'
    },
    docFooter: { prev: 'Previous', next: 'Next' },
    externalLinkIcon: false
  },
  transformPageData(page) {
    if (page.relativePath.startsWith('changelog/')) page.frontmatter.editLink = false
    const address = page.relativePath.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')
    page.frontmatter.head = [
      ...(page.frontmatter.head ?? []),
      ['link', { rel: 'canonical', href: siteURL + address }],
      ['meta', { property: 'og:title', content: page.title || name }]
    ]
  },
  transformHtml: (html) => moveScripts(html),
  buildEnd: (site) => writeScripts(site.outDir),
  vite: {
    // The pages lie outside of this folder, where the packages of the server's build are not found.
    plugins: [
      accessibleSearch,
      {
        name: 'packages-of-pages',
        enforce: 'pre',
        resolveId: (id, _, { ssr }) => (ssr && /^vue(\/|$)/.test(id) ? { id, external: true } : null)
      }
    ],
    publicDir: folder('../public'),
    build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 4000 }
  }
})
