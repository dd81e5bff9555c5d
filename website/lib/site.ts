// What the site is called and where it is published. Set SLIPWAY_SITE_URL to build it for
// another address; the path of the URL becomes the base of every link.
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

const site = JSON.parse(readFileSync(resolve(root, 'website/site.json'), 'utf8'))
const url = new URL(process.env.SLIPWAY_SITE_URL || site.url)
if (!url.pathname.endsWith('/')) url.pathname += '/'

export const name: string = site.name
export const description: string = site.description
export const repository: string = site.repository
export const branch: string = site.branch
export const siteURL: string = url.href
export const base: string = url.pathname
