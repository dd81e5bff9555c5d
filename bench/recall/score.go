package recall

import "slices"

// Score counts the questions whose page was found, as shares of all.
type Score struct{ At1, At5, At10 float64 }

// Rate asks the questions with find, which returns pages, the best first.
func Rate(questions []Question, find func(q *Question) []string) Score {
	var s Score
	each := 1 / float64(len(questions))
	for i := range questions {
		place := slices.IndexFunc(find(&questions[i]), questions[i].Answers)
		for limit, share := range map[int]*float64{1: &s.At1, 5: &s.At5, 10: &s.At10} {
			if place >= 0 && place < limit {
				*share += each
			}
		}
	}
	return s
}

// Single returns each phrasing as a question of its own.
func Single(questions []Question) []Question {
	var list []Question
	for _, q := range questions {
		for _, phrasing := range q.Phrasings {
			list = append(list, Question{[]string{phrasing}, q.pages})
		}
	}
	return list
}

// Mean returns the mean of scores.
func Mean(scores []Score) Score {
	var m Score
	for _, s := range scores {
		m.At1 += s.At1 / float64(len(scores))
		m.At5 += s.At5 / float64(len(scores))
		m.At10 += s.At10 / float64(len(scores))
	}
	return m
}
