# Turns the output of go test -v into one line per check: a test without
# subtests. What a check printed follows its line. A check that was left out
# counts against the run: nothing is skipped silently.

/^=== (RUN|NAME|CONT) / {
	current = $3
	if ($2 == "RUN")
		for (parent = $3; sub(/\/[^\/]*$/, "", parent); )
			inner[parent] = 1
	next
}

/^=== PAUSE / { next }

/^ *--- (PASS|FAIL|SKIP): / {
	name = $3
	seconds = $4
	verdict = $2
	sub(/:$/, "", verdict)
	if (!(name in inner) || verdict == "SKIP") {
		count[verdict]++
		word = verdict == "PASS" ? "ok  " : verdict
		printf "%s  %s %s\n", word, name, seconds
		printf "%s", said[name]
	} else if (verdict == "FAIL" && said[name] != "") {
		printf "FAIL  %s, as a whole\n%s", name, said[name]
	}
	delete said[name]
	current = ""
	next
}

/^(PASS|FAIL)$/ { next }

/^(ok|FAIL|\?)[ \t]/ { closing = $0; next }

current != "" { said[current] = said[current] $0 "\n"; next }

{ print }

END {
	for (name in said)
		printf "%s was not finished\n%s", name, said[name]
	if (closing !~ /^ok/)
		print closing
	printf "interop: %d passed, %d failed, %d skipped\n", count["PASS"], count["FAIL"], count["SKIP"]
	exit !(closing ~ /^ok/ && count["PASS"] > 0 && count["FAIL"] + count["SKIP"] == 0)
}
