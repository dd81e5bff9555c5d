package docs

// Options configure how documents are read. A nil *Options and the zero value mean the
// defaults.
type Options struct {
	// Name and Title name the site. Default: from the navigation files, otherwise the name
	// of the folder or host, and the title of the top page.
	Name, Title string
	// Version is the version of the site. Default: that of the folder's project, see
	// [sitewriter.ProjectVersion], otherwise 1.0.0.
	Version string
	// Language is the code of the language of the documents. Default: from front matter or a
	// navigation file, otherwise guessed from the words.
	Language string
	// Instructions describe to clients what the site is for. Default: a sentence about the
	// tools.
	Instructions string
	// BaseURL is the address where the documents are published, for the links in answers and
	// in llms.txt. Default: the project's setting in mkdocs.yml (site_url),
	// docusaurus.config (url and baseUrl) or hugo.toml (baseURL). Without any of these,
	// answers have no links, and llms.txt links to the resources of the site.
	BaseURL string
	// MkDocsConfig is the name of the configuration file of MkDocs, in the folder or next to it; it is an
	// error if there is none of that name. Default: mkdocs.yml.
	MkDocsConfig string
	// Versions and Languages are kept in folders side by side, and chosen by arguments of the
	// tools. Default: those of Docusaurus and mike, and those that the names of folders tell.
	Versions, Languages Variants
	// Drafts includes pages that are marked as drafts, hidden or unlisted.
	Drafts bool

	// PartBytes is the approximate limit for one answer of get_page and get_section; longer
	// texts are split into parts. Default: 24,000.
	PartBytes int
	// TermFiles is the maximum number of words whose search results are stored as files of
	// their own, for bridges that cannot read the index. A negative value stores none.
	// Default: 2,000.
	TermFiles int
	// Search improves the results of the search tool.
	Search SearchOptions
	// NoSections omits get_section, whose answers are most of the files of a site. Search
	// still names sections; get_page includes them in its parts.
	NoSections bool
	// ToolNames are the names that tools get later, by their own names, for the texts that
	// mention them; "" for a tool that the site omits. Default: their own names.
	ToolNames map[string]string `json:",omitempty"`
	// MaxImageBytes is the largest image that becomes a resource. A negative value omits all
	// images. Default: 256 KiB.
	MaxImageBytes int64
	// MaxFileBytes is the largest document; larger ones are skipped with a finding. A notebook,
	// a Word document or PDF, most of which is pictures, may be 16 times as large. Default: 4 MiB.
	MaxFileBytes int64
	// MaxPages bounds the number of documents; more are an error in a folder, and left out with
	// a finding in an llms.txt and on a website. Default: 100,000 for a folder, 1,000 for the
	// others.
	MaxPages int
	// CacheDir is the folder in which the parsed pages of a folder of documents are kept for the
	// next build. It is created and marked if it does not exist; one with other contents is not
	// used. The site is the same, byte for byte, with and without a cache. Default: none.
	CacheDir string `json:"-"`
	// uriPlace precedes the ids of pages and images in their URIs.
	uriPlace string
	// recording keeps what a record of the site needs.
	recording bool
	// used is what other editions of the documents have used of the limits.
	used usage
	// actual returns the name of a file on disk, or is nil if all have their own.
	actual func(name string) string
	// MaxTotalBytes bounds the total size of all documents. Default: 2 GiB for a folder, 256
	// MiB for a website, 64 MiB for an llms.txt.
	MaxTotalBytes int64
}

// SearchOptions are what the owner of documents knows about the words of their readers.
type SearchOptions struct {
	// Synonyms are groups of words or phrases with the same meaning: a query with one of
	// them also finds pages with the others.
	Synonyms [][]string
	// Pins put a page first for queries that contain all words of a phrase.
	Pins []Pin
}

// Pin puts a page first.
type Pin struct {
	// Query is the phrase, and Page the path of the page.
	Query, Page string
}

const (
	defaultPartBytes  = 24_000
	defaultTermFiles  = 2_000
	defaultImageBytes = 256 << 10
	defaultFileBytes  = 4 << 20
	folderPages       = 100_000
	folderBytes       = 2 << 30
	llmsPages         = 1_000
	llmsBytes         = 64 << 20
	maxImages         = 2_000
	maxImageTotal     = 64 << 20
)

// usage is the part of the limits that documents and images have used.
type usage struct {
	documents, images int
	bytes, imageBytes int64
}

// add adds what the documents and images of set use.
func (u *usage) add(set *Set) {
	u.documents += set.used.documents
	u.bytes += set.used.bytes
	u.images += len(set.Images)
	for _, image := range set.Images {
		u.imageBytes += int64(len(image.Data))
	}
}

// withDefaults returns a copy of the options, in which zero values are replaced by their
// defaults; pages and bytes are those of MaxPages and MaxTotalBytes. o may be nil.
func (o *Options) withDefaults(pages int, bytes int64) *Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.PartBytes <= 0 {
		d.PartBytes = defaultPartBytes
	}
	if d.TermFiles == 0 {
		d.TermFiles = defaultTermFiles
	}
	if d.MaxImageBytes == 0 {
		d.MaxImageBytes = defaultImageBytes
	}
	if d.MaxFileBytes <= 0 {
		d.MaxFileBytes = defaultFileBytes
	}
	if d.MaxPages <= 0 {
		d.MaxPages = pages
	}
	if d.MaxTotalBytes <= 0 {
		d.MaxTotalBytes = bytes
	}
	return &d
}
