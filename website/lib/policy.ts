// The content security policy of every page, and what VitePress needs to satisfy it: its inline
// scripts become files.
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { base } from './site.ts'

export const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'self'",
  "form-action 'none'"
].join('; ')

const scripts = new Map<string, string>()

/** moveScripts replaces each inline script of a page by a file, and removes the two style
 * attributes that VitePress sets itself. style.css has their effect. */
export function moveScripts(html: string): string {
  return html.replace(/ style="(position:relative|--vp-vh:0px);"/g, '').replace(/<script((?:(?! src=)[^>])*)>((?:(?!<\/script>)[\s\S])+)<\/script>/g, (_, attributes: string, code: string) => {
    const file = `${createHash('sha256').update(code).digest('hex').slice(0, 12)}.js`
    scripts.set(file, code)
    return `<script${attributes.replace(/ id="[^"]*"/, '')} src="${base}scripts/${file}"></script>`
  })
}

/** writeScripts writes the files into the folder of the site. */
export function writeScripts(folder: string): void {
  mkdirSync(join(folder, 'scripts'), { recursive: true })
  for (const [file, code] of scripts) writeFileSync(join(folder, 'scripts', file), code)
}
