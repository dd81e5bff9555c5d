// Runs Lighthouse on one page of each type: accessibility must be 100, best practices and SEO at
// least 90. Performance is printed only, because it depends on the machine.
//
// usage: node lighthouse.mjs SITE
import { chromium } from 'playwright-core'
import lighthouse from 'lighthouse'
import { chromiumPath, flags, serve } from './browser.mjs'

const server = await serve(process.argv[2])
const port = 20000 + (process.pid % 20000)
const browser = await chromium.launch({ executablePath: chromiumPath, args: [...flags, `--remote-debugging-port=${port}`] })
let failed = false
for (const path of ['', 'docs/publish', 'docs/reference/rules', 'docs/decisions/0009-sessions']) {
  const { lhr } = await lighthouse(server.url + path, {
    port,
    output: 'json',
    logLevel: 'error',
    onlyCategories: ['accessibility', 'best-practices', 'seo', 'performance']
  })
  const score = (name) => Math.round(lhr.categories[name].score * 100)
  const bytes = lhr.audits['total-byte-weight']?.numericValue ?? 0
  console.log(`/${path}: accessibility ${score('accessibility')}, best practices ${score('best-practices')}, SEO ${score('seo')}, ` +
    `performance ${score('performance')}, ${Math.round(bytes / 1000)} kB`)
  for (const ref of lhr.categories.accessibility.auditRefs) {
    const audit = lhr.audits[ref.id]
    if (ref.weight && audit.score !== null && audit.score < 1) console.log(`  ${audit.id}: ${audit.title}`)
  }
  if (score('accessibility') < 100 || score('best-practices') < 90 || score('seo') < 90 || bytes > 700_000) failed = true
}
await browser.close()
server.close()
process.exit(failed ? 1 : 0)
