package main

func contentFields() []field {
	return []field{
		{
			name: "Content-Type", sentIn: inBoth, source: rfc(9110, "8.3"),
			meaning: "The media type of the content, with parameters such as charset or boundary.",
			example: "Content-Type: text/html; charset=utf-8\nContent-Type: application/problem+json",
			advice:  "Send it with every message that has content. `application/json` has no charset parameter: JSON is UTF-8. Pair it with `X-Content-Type-Options: nosniff`.",
			related: []string{"Accept", "Content-Encoding", "X-Content-Type-Options"},
		},
		{
			name: "Content-Encoding", sentIn: inBoth, source: rfc(9110, "8.4"),
			meaning: "The codings applied to the representation, in the order they were applied; the recipient undoes them to get the media type.",
			example: "Content-Encoding: gzip",
			advice:  "It belongs to the representation, so an encoded variant needs an entity tag of its own and `Vary: Accept-Encoding`. Common codings: gzip, br, zstd, deflate (zlib format).",
			related: []string{"Accept-Encoding", "Transfer-Encoding", "Vary"},
		},
		{
			name: "Content-Language", sentIn: inBoth, source: rfc(9110, "8.5"),
			meaning: "The natural languages of the intended audience.",
			example: "Content-Language: de-AT\nContent-Language: mi, en",
			advice:  "For whom the text is written, not in which languages words occur in it. Tags follow RFC 5646.",
			related: []string{"Accept-Language", "Vary"},
		},
		{
			name: "Content-Length", sentIn: inBoth, source: rfc(9110, "8.6"),
			meaning: "The length of the content in octets, after content coding.",
			example: "Content-Length: 3495",
			advice:  "Never together with Transfer-Encoding, and never with two different values: either is the raw material of request smuggling (RFC 9112, section 6.3). Count bytes, not characters: `é` is two in UTF-8.",
			related: []string{"Transfer-Encoding", "Content-Range"},
		},
		{
			name: "Content-Location", sentIn: inBoth, source: rfc(9110, "8.7"),
			meaning: "A URI that identifies the representation in this message.",
			example: "Content-Location: /books/42.json",
			advice:  "In a response to POST or PUT, equal to the target it says that the content is the new state of the target. It is no redirect.",
			related: []string{"Location", "Vary"},
		},
		{
			name: "Content-Disposition", sentIn: inResponse, source: rfc(6266, "4"),
			meaning: "Whether to show the content or to save it, and under which file name.",
			example: "Content-Disposition: attachment; filename=\"Euro rates.pdf\"; filename*=UTF-8''%E2%82%AC%20rates.pdf",
			advice:  "Give a plain filename first for old recipients and `filename*` (RFC 8187) for names beyond ASCII. The recipient must strip path separators. Inside `multipart/form-data` the field follows RFC 7578 instead.",
			related: []string{"Content-Type"},
		},
		{
			name: "Content-Digest", sentIn: inBoth, source: rfc(9530, "2"), structured: "Dictionary",
			meaning: "Digests of the content of this very message, after content coding and, in a 206, of the part only.",
			example: "Content-Digest: sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:",
			advice:  "To check a download as a whole, Repr-Digest is the right field. May be sent as a trailer. Use sha-256 or sha-512.",
			related: []string{"Repr-Digest", "Want-Content-Digest", "Signature"},
		},
		{
			name: "Repr-Digest", sentIn: inBoth, source: rfc(9530, "3"), structured: "Dictionary",
			meaning: "Digests of the whole selected representation, even if the message carries a part of it or nothing.",
			example: "Repr-Digest: sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/WkppmM44T3qg==:",
			advice:  "The same for all ranges of one representation, which makes it the field to verify a resumed download.",
			related: []string{"Content-Digest", "Want-Repr-Digest", "ETag"},
		},
		{
			name: "Want-Content-Digest", sentIn: inBoth, source: rfc(9530, "4"), structured: "Dictionary",
			meaning: "Asks the other side for Content-Digest, with algorithms weighted from 1 to 10; 0 means not acceptable.",
			example: "Want-Content-Digest: sha-256=10, sha-512=3",
			related: []string{"Content-Digest"},
		},
		{
			name: "Want-Repr-Digest", sentIn: inBoth, source: rfc(9530, "4"), structured: "Dictionary",
			meaning: "Asks the other side for Repr-Digest, with algorithms weighted from 1 to 10; 0 means not acceptable.",
			example: "Want-Repr-Digest: sha-256=10, sha-512=3",
			related: []string{"Repr-Digest"},
		},
		{
			name: "Digest", sentIn: inBoth, source: rfc(9530, "1.3"),
			note:    "Obsoleted by Repr-Digest and Content-Digest.",
			meaning: "The digest of the selected representation, in the syntax of RFC 3230.",
			example: "Digest: SHA-256=X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=",
			related: []string{"Repr-Digest", "Content-Digest"},
		},
		{
			name: "MIME-Version", sentIn: inBoth, source: rfc(9112, "B.1"),
			meaning: "Says that a message was built with the MIME protocol. HTTP does not need it.",
			example: "MIME-Version: 1.0",
			related: []string{"Content-Type"},
		},
		{
			name: "Link", sentIn: inBoth, source: rfc(8288, "3"),
			meaning: "Typed links from this resource to others: what `<link>` is in HTML, for any format.",
			example: "Link: </books?page=3>; rel=\"next\", </books?page=1>; rel=\"prev\"\nLink: </style.css>; rel=preload; as=style\nLink: </kapitel-2>; rel=\"next\"; title*=UTF-8'de'n%c3%a4chstes%20Kapitel",
			advice:  "The usual way to page through an API and to preload in a 103. Relation names are registered with IANA, or are URIs of your own.",
			related: []string{"Location", "Accept-Post"},
		},
	}
}

func negotiationFields() []field {
	return []field{
		{
			name: "Accept", sentIn: inBoth, source: rfc(9110, "12.5.1"),
			meaning: "Media types that the sender can use, weighted by q from 0 to 1.",
			example: "Accept: application/json, text/plain;q=0.5, */*;q=0.1",
			advice:  "The more specific range wins over the wider one, whatever their weights. In a response it says what a later request to the target may contain.",
			related: []string{"Content-Type", "Vary", "Accept-Post"},
		},
		{
			name: "Accept-Charset", sentIn: inRequest, source: rfc(9110, "12.5.2"),
			note:    "Deprecated: everything is UTF-8 now, and the field helps to fingerprint users.",
			meaning: "Charsets that the client can use.",
			example: "Accept-Charset: utf-8",
			related: []string{"Content-Type"},
		},
		{
			name: "Accept-Encoding", sentIn: inBoth, source: rfc(9110, "12.5.3"),
			meaning: "Content codings that the sender can decode, weighted by q.",
			example: "Accept-Encoding: zstd, br, gzip;q=0.8, identity;q=0.5",
			advice:  "Absent means any coding is acceptable, but servers take it as none. In a 415 it tells which codings a request may use. Beware of compressing secrets next to data an attacker chooses (BREACH).",
			related: []string{"Content-Encoding", "Vary", "TE"},
		},
		{
			name: "Accept-Language", sentIn: inRequest, source: rfc(9110, "12.5.4"),
			meaning: "Natural languages that the user prefers, weighted by q.",
			example: "Accept-Language: da, en-GB;q=0.8, en;q=0.7",
			advice:  "A hint, not an identity: let the user choose as well, and keep the choice in the URI or a cookie.",
			related: []string{"Content-Language", "Vary"},
		},
		{
			name: "Accept-Patch", sentIn: inResponse, source: rfc(5789, "3.1"),
			meaning: "Formats that the target accepts in a PATCH; its presence says that PATCH is allowed.",
			example: "Accept-Patch: application/merge-patch+json, application/json-patch+json",
			advice:  "Send it in answers to OPTIONS, and in the 415 for a patch of an unknown format.",
			related: []string{"Accept-Post", "Accept-Query", "Allow"},
		},
		{
			name: "Accept-Post", sentIn: inResponse, source: source{document: "Linked Data Platform 1.0", section: "7.1"},
			meaning: "Formats that the target accepts in a POST.",
			example: "Accept-Post: application/json, multipart/form-data",
			related: []string{"Accept-Patch", "Accept-Query", "Allow"},
		},
		{
			name: "Accept-Query", sentIn: inResponse, source: rfc(10008, "3"), structured: "List",
			meaning: "Formats that the target accepts in a QUERY; its presence says that QUERY is allowed.",
			example: "Accept-Query: \"application/jsonpath\", application/sql;charset=\"UTF-8\"",
			advice:  "It looks like Accept but is a structured field: media types are tokens or strings, weights are not used.",
			related: []string{"Accept", "Accept-Post", "Allow"},
		},
		{
			name: "Accept-CH", sentIn: inResponse, source: rfc(8942, "3.1"), structured: "List",
			meaning: "Client hints that the server would like to have in later requests.",
			example: "Accept-CH: Sec-CH-UA-Platform, Sec-CH-Viewport-Width",
			advice:  "List the hints that shape the response in Vary too.",
			related: []string{"Vary", "Sec-CH-UA", "User-Agent"},
		},
		{
			name: "Sec-CH-UA", sentIn: inRequest, source: source{document: "User-Agent Client Hints"}, structured: "List",
			note:    unlisted,
			meaning: "Brands and major versions of the browser, as a client hint.",
			example: "Sec-CH-UA: \"Chromium\";v=\"128\", \"Not;A=Brand\";v=\"24\"",
			advice:  "The list contains a made-up brand on purpose, so that nobody matches the whole value. Sent by Chromium browsers; test for features rather than brands.",
			related: []string{"Accept-CH", "User-Agent"},
		},
		{
			name: "Vary", sentIn: inResponse, source: rfc(9110, "12.5.5"),
			meaning: "Request fields that influenced the choice of this response; a cache keeps one response for each combination of their values.",
			example: "Vary: Accept-Encoding, Accept-Language",
			advice:  "Send it with every negotiated response, the default and the 304 included. `Vary: *` means the response can never be reused without asking. `Vary: User-Agent` makes caches useless.",
			related: []string{"Accept", "Accept-Encoding", "Cache-Control"},
		},
		{
			name: "Prefer", sentIn: inRequest, source: rfc(7240, "2"),
			meaning: "Wishes of the client that the server may ignore: `respond-async`, `wait=10`, `return=minimal`, `return=representation`, `handling=lenient`.",
			example: "Prefer: return=minimal, respond-async, wait=5",
			related: []string{"Preference-Applied", "Vary"},
		},
		{
			name: "Preference-Applied", sentIn: inResponse, source: rfc(7240, "3"),
			meaning: "Which of the preferences the server has honoured.",
			example: "Preference-Applied: return=minimal",
			related: []string{"Prefer"},
		},
		{
			name: "Use-As-Dictionary", sentIn: inResponse, source: rfc(9842, "2.1"), structured: "Dictionary",
			meaning: "This response may serve as the dictionary to compress later responses whose URL matches.",
			example: "Use-As-Dictionary: match=\"/app/*/main.js\", id=\"main-v7\"",
			related: []string{"Available-Dictionary", "Dictionary-ID", "Accept-Encoding"},
		},
		{
			name: "Available-Dictionary", sentIn: inRequest, source: rfc(9842, "2.2"), structured: "Item",
			meaning: "The SHA-256 of the best dictionary that the client has stored for this request.",
			example: "Available-Dictionary: :pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=:",
			advice:  "The server answers with the coding dcb or dcz, and varies on this field.",
			related: []string{"Use-As-Dictionary", "Content-Encoding", "Vary"},
		},
		{
			name: "Dictionary-ID", sentIn: inRequest, source: rfc(9842, "2.3"), structured: "Item",
			meaning: "The id the server gave to that dictionary.",
			example: "Dictionary-ID: \"main-v7\"",
			related: []string{"Use-As-Dictionary", "Available-Dictionary"},
		},
	}
}

func conditionFields() []field {
	return []field{
		{
			name: "ETag", sentIn: inResponse, source: rfc(9110, "8.8.3"),
			meaning: "The entity tag: an opaque name for this version of the representation, in double quotes, with `W/` in front if it is weak.",
			example: "ETag: \"33a64df5\"\nETag: W/\"7\"",
			advice:  "Strong means equal byte for byte. A hash of the content or a version number will do. Each coding (gzip, br) is a representation of its own and needs its own strong tag.",
			related: []string{"If-Match", "If-None-Match", "Last-Modified", "Repr-Digest"},
		},
		{
			name: "Last-Modified", sentIn: inResponse, source: rfc(9110, "8.8.2"),
			meaning: "When the server believes the representation was last changed, to the second.",
			example: "Last-Modified: Tue, 15 Nov 1994 12:45:26 GMT",
			advice:  "Too coarse for things that change more than once a second; send ETag as well. Without explicit freshness, caches often take a tenth of its age as lifetime.",
			related: []string{"If-Modified-Since", "If-Unmodified-Since", "ETag"},
		},
		{
			name: "If-Match", sentIn: inRequest, source: rfc(9110, "13.1.1"),
			meaning: "Perform the method only if the current entity tag is one of these (strong comparison); `*` means if there is any representation.",
			example: "If-Match: \"33a64df5\"",
			advice:  "The cure for lost updates: fetch with ETag, change, then PUT, PATCH or DELETE with If-Match. False gives 412.",
			related: []string{"ETag", "If-None-Match", "If-Unmodified-Since"},
		},
		{
			name: "If-None-Match", sentIn: inRequest, source: rfc(9110, "13.1.2"),
			meaning: "Perform the method only if the current entity tag is none of these (weak comparison); `*` means only if nothing exists.",
			example: "If-None-Match: \"33a64df5\", W/\"7\"\nIf-None-Match: *",
			advice:  "False gives 304 for GET and HEAD, else 412. With `*`, PUT creates without overwriting. It takes precedence over If-Modified-Since.",
			related: []string{"ETag", "If-Match", "If-Modified-Since"},
		},
		{
			name: "If-Modified-Since", sentIn: inRequest, source: rfc(9110, "13.1.3"),
			meaning: "For GET and HEAD: send the content only if it has changed after this date, else 304.",
			example: "If-Modified-Since: Sat, 29 Oct 1994 19:43:31 GMT",
			advice:  "Send back the Last-Modified date unchanged. Ignored if If-None-Match is present.",
			related: []string{"Last-Modified", "If-None-Match"},
		},
		{
			name: "If-Unmodified-Since", sentIn: inRequest, source: rfc(9110, "13.1.4"),
			meaning: "Perform the method only if the representation has not changed after this date, else 412.",
			example: "If-Unmodified-Since: Sat, 29 Oct 1994 19:43:31 GMT",
			advice:  "For resources without entity tags; If-Match is more exact and takes precedence.",
			related: []string{"Last-Modified", "If-Match"},
		},
	}
}

func rangeFields() []field {
	return []field{
		{
			name: "Range", sentIn: inRequest, source: rfc(9110, "14.2"),
			meaning: "Asks for parts of the representation instead of all of it; defined for GET only.",
			example: "Range: bytes=0-499\nRange: bytes=9500-\nRange: bytes=-500",
			advice:  "A server may ignore it and answer 200. `-500` means the last 500 bytes. Many small or overlapping ranges are an attack, and may be refused.",
			related: []string{"Content-Range", "If-Range", "Accept-Ranges"},
		},
		{
			name: "Content-Range", sentIn: inBoth, source: rfc(9110, "14.4"),
			meaning: "Which part the content is, and how long the whole is; in a 416, only how long the whole is.",
			example: "Content-Range: bytes 42-1233/1234\nContent-Range: bytes 42-1233/*\nContent-Range: bytes */1234",
			advice:  "In a PUT only where the server is known to support it (RFC 9110, section 14.5): others would store the part as the whole.",
			related: []string{"Range", "Content-Length"},
		},
		{
			name: "Accept-Ranges", sentIn: inResponse, source: rfc(9110, "14.3"),
			meaning: "The server supports ranges of these units for the target; `none` says it does not.",
			example: "Accept-Ranges: bytes",
			related: []string{"Range"},
		},
		{
			name: "If-Range", sentIn: inRequest, source: rfc(9110, "13.1.5"),
			meaning: "Send the range if the representation is unchanged, otherwise all of the new one.",
			example: "If-Range: \"33a64df5\"",
			advice:  "Takes one strong entity tag or a date. It saves the second request after a download that broke off.",
			related: []string{"Range", "ETag", "Last-Modified"},
		},
	}
}
