// The changelog: one page for each folder of changelog, with the topics as sections.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { links, resolveLink, text } from './pages.ts'
import { root } from './site.ts'

/** releases lists the folders of changelog, the newest first. */
export const releases = readdirSync(join(root, 'changelog'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort((a, b) => +(b === 'unreleased') - +(a === 'unreleased') || b.localeCompare(a, 'en', { numeric: true }))

const isBreaking = (topic: string) => topic === 'breaking'

/** changes returns the Markdown of one release: breaking changes first. */
export function changes(release: string): string {
  const topics = readdirSync(join(root, 'changelog', release))
    .filter((name) => name.endsWith('.md'))
    .map((name) => name.slice(0, -3))
    .sort((a, b) => +isBreaking(b) - +isBreaking(a) || a.localeCompare(b))
  const sections = topics.map((topic) => {
    const path = `changelog/${release}/${topic}.md`
    let body = text(path).replace(/^#(#*) (.+)$/gm, (_, more, heading) => `##${more} ${heading}`)
    body = body.replace(/^## (.+)$/m, `## $1 {#${topic}}`)
    for (const link of links(body)) body = body.replace(`](${link.href})`, `](${resolveLink(path, link.href)})`)
    return body.trim()
  })
  const heading = release === 'unreleased' ? 'Changelog' : `Changelog of ${release}`
  return [`# ${heading}`, ...sections].join('\n\n') + '\n'
}
