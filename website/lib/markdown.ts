// How pages are rendered: links, code and diagrams.
import { existsSync, readFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { join, relative } from 'node:path'
import { slug } from 'github-slugger'
import { createCssVariablesTheme } from 'shiki'
import type { MarkdownOptions } from 'vitepress'
import { resolveLink } from './pages.ts'
import { root } from './site.ts'

/** diagram returns the file name of a rendered diagram, without the suffix of its colours. */
export const diagram = (source: string): string =>
  createHash('sha256').update(source.trim()).digest('hex').slice(0, 12)

// Colours of code are classes and not style attributes, which the content security policy forbids.
const colorClasses = {
  name: 'color-classes',
  span(node: any) {
    const token = /--shiki-(?:token-)?([a-z-]+)/.exec(node.properties.style ?? '')
    delete node.properties.style
    if (token && token[1] !== 'foreground') node.properties.class = `tk-${token[1]}`
  },
  pre(node: any) {
    delete node.properties.style
  },
  // A terminal session: the prompt, the command and its output.
  line(this: any, node: any) {
    if (this.options.lang !== 'console') return
    const text = node.children.map((c: any) => c.children[0]?.value ?? '').join('')
    const span = (name: string, value: string) => ({
      type: 'element',
      tagName: 'span',
      properties: { class: name },
      children: [{ type: 'text', value }]
    })
    node.children = text.startsWith('$ ') ? [span('prompt', '$ '), span('command', text.slice(2))] : [span('output', text)]
  }
}

export const markdown: MarkdownOptions = {
  theme: createCssVariablesTheme({ name: 'slipway', variablePrefix: '--shiki-' }),
  codeTransformers: [colorClasses],
  anchor: { slugify: (heading) => slug(heading) },
  config(md) {
    md.core.ruler.push('repository_links', (state) => {
      if (!state.env.path) return
      const source = relative(root, state.env.path)
      if (source.startsWith('website/')) return
      for (const block of state.tokens) {
        // The alignment of columns is a class, too.
        const align = /^text-align:(\w+)$/.exec(block.attrGet('style') ?? '')
        if (align) {
          block.attrs = block.attrs!.filter(([name]) => name !== 'style')
          block.attrJoin('class', `align-${align[1]}`)
        }
        for (const token of block.children ?? []) {
          if (token.type === 'link_open') token.attrSet('href', resolveLink(source, token.attrGet('href')!))
        }
      }
    })
    // A block can have the focus, so that the keyboard scrolls its long lines.
    const block = md.renderer.rules.code_block!
    md.renderer.rules.code_block = (...args) => block(...args).replace('<pre', '<pre tabindex="0"')
    // Pages are text, so braces are never an expression of Vue.
    for (const rule of ['text', 'code_inline', 'code_block'] as const) {
      const render = md.renderer.rules[rule]!
      md.renderer.rules[rule] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
    }
    md.core.ruler.push('empty_heads', (state) => {
      // A head without text is no head.
      state.tokens.forEach((token, i) => {
        if (token.type !== 'th_open' || state.tokens[i + 1].content.trim()) return
        token.tag = state.tokens[i + 2].tag = 'td'
      })
    })
    const fence = md.renderer.rules.fence!
    md.renderer.rules.fence = (tokens, index, options, env, self) => {
      if (tokens[index].info.trim() !== 'mermaid') return fence(tokens, index, options, env, self)
      return figure(tokens[index].content, env.relativePath)
    }
  }
}

function figure(source: string, page: string): string {
  const file = diagram(source)
  if (!existsSync(join(root, `website/public/diagrams/${file}-light.svg`))) {
    throw new Error(`${page}: a diagram is not rendered; run scripts/website diagrams`)
  }
  const kind = source.trim().split('\n')[0].split(' ')[0]
  const label = kind === 'sequenceDiagram' ? 'Sequence of messages; the text below describes it' : 'Diagram; the table below lists the parts'
  return ['light', 'dark']
    .map((mode) => {
      const svg = readFileSync(join(root, `website/public/diagrams/${file}-${mode}.svg`), 'utf8')
      const [, width, height] = /viewBox="\S+ \S+ (\S+) (\S+)"/.exec(svg) ?? ['', '', '']
      return `<img class="diagram diagram-${mode}" src="/diagrams/${file}-${mode}.svg" alt="${label}"` +
        ` width="${Math.round(+width)}" height="${Math.round(+height)}">`
    })
    .join('')
}
