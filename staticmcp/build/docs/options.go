package docs

// Options say how documents are read. A nil *Options and the zero value are the
// defaults.
type Options struct {
	// Name and Title name the site. Default: what the navigation files say, else
	// the name of the folder or host, and the title of the page at the top.
	Name, Title string
	// Version is that of the site. Default: that of the project of a folder, see
	// [build.ProjectVersion], else 1.0.0.
	Version string
	// Language is the code of the language the documents are in. Default: what
	// front matter or a navigation file says, else it is guessed from the words.
	Language string
	// Instructions tell clients what the site is for. Default: a sentence about
	// the tools.
	Instructions string
	// BaseURL is where the documents are published for people, for the links in
	// answers and in llms.txt. Default: what the project says in mkdocs.yml
	// (site_url), docusaurus.config (url and baseUrl) or hugo.toml (baseURL). Without
	// either, answers have no links, and llms.txt links to the resources of the site.
	BaseURL string
	// Drafts keeps pages that are marked as drafts, hidden or unlisted.
	Drafts bool

	// PartBytes is about the most that get_page and get_section answer with at
	// once; longer ones have parts. Default: 24,000.
	PartBytes int
	// TermFiles is the most words whose search is stored as a file of its own, for
	// bridges that cannot read the index. A negative value stores none. Default:
	// 2,000.
	TermFiles int
	// NoSections leaves out get_section, whose answers are most of the files of a
	// site. Search still names sections; get_page has them in parts.
	NoSections bool
	// MaxImageBytes is the largest image that becomes a resource. A negative
	// value leaves out all. Default: 256 KiB.
	MaxImageBytes int64
	// MaxFileBytes is the largest document; larger ones are left out with a
	// finding. Default: 4 MiB.
	MaxFileBytes int64
	// MaxPages bounds the documents; more are an error. Default: 100,000 of a
	// folder, 1,000 of an llms.txt.
	MaxPages int
	// MaxTotalBytes bounds all documents together. Default: 2 GiB of a folder,
	// 64 MiB of an llms.txt.
	MaxTotalBytes int64
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
