// Renders the Mermaid diagrams of the pages named into public/diagrams, in light and dark, and
// deletes those that no page has.
//
// usage: node diagrams.mjs FOLDER-OF-MERMAID PAGE...
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { launch, website } from './browser.mjs'

const [mermaid, ...pages] = process.argv.slice(2)
const folder = join(website, 'public/diagrams')
const sources = pages.flatMap((page) =>
  [...readFileSync(page, 'utf8').matchAll(/^```mermaid\n([\s\S]*?)^```/gm)].map((m) => m[1])
)
const looks = {
  light: { paper: '#f4f1e8', ink: '#10222e', line: '#5c6b74', fill: '#ffffff', note: '#fbe6d8' },
  dark: { paper: '#0b161d', ink: '#e8ece9', line: '#8fa3ad', fill: '#17303c', note: '#3a2418' }
}

const browser = await launch()
mkdirSync(folder, { recursive: true })
const kept = new Set()
for (const source of sources) {
  const name = createHash('sha256').update(source.trim()).digest('hex').slice(0, 12)
  for (const [mode, look] of Object.entries(looks)) {
    const page = await browser.newPage()
    await page.addScriptTag({ path: join(mermaid, 'node_modules/mermaid/dist/mermaid.min.js') })
    const svg = await page.evaluate(async ({ source, look }) => {
      window.mermaid.initialize({
        startOnLoad: false,
        htmlLabels: false,
        flowchart: { htmlLabels: false },
        deterministicIds: true,
        theme: 'base',
        themeVariables: {
          fontFamily: 'ui-sans-serif, system-ui, sans-serif',
          fontSize: '14px',
          background: look.paper,
          primaryColor: look.fill,
          primaryTextColor: look.ink,
          primaryBorderColor: look.line,
          lineColor: look.line,
          textColor: look.ink,
          noteBkgColor: look.note,
          noteTextColor: look.ink,
          noteBorderColor: look.line,
          actorBkg: look.fill,
          actorBorder: look.line,
          actorTextColor: look.ink,
          actorLineColor: look.line,
          signalColor: look.ink,
          signalTextColor: look.ink
        }
      })
      return (await window.mermaid.render('diagram', source)).svg
    }, { source, look })
    writeFileSync(join(folder, `${name}-${mode}.svg`), svg.replace(/\s+$/, '') + '\n')
    kept.add(`${name}-${mode}.svg`)
    await page.close()
  }
}
await browser.close()
for (const file of readdirSync(folder)) if (!kept.has(file)) rmSync(join(folder, file))
console.log(`${kept.size} files in ${folder}`)
