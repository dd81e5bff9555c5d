package search

import (
	"strings"

	snowball "github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// language holds the rules of one language.
type language struct {
	code string
	stem func(*snowball.Env) bool
	// stops are the stop words, separated by spaces. They also serve to detect the
	// language.
	stops string
	// elides reports whether an apostrophe ends a word, as in l'eau.
	elides bool
}

// languages returns the languages in the order preferred by detection. Words of other
// languages are indexed without stemming; scripts without spaces are split into letter
// pairs in any language.
func languages() []language {
	return []language{
		{
			code:  "en",
			stem:  english.Stem,
			stops: "a about after all also am an and any are as at be because been before being between both but by can could did do does doing don't for from get had has have having he her here him his how i if in into is it its it's just me more most my need no not of off on once one only or other our out over own same she should so some such than that the their them then there these they this those through to too under until up very want was we were what when where which while who whom why will with would you your",
		},
		{
			code:  "de",
			stem:  german.Stem,
			stops: "aber alle als also am an auch auf aus bei bin bis bist da damit das dass dein dem den der des die dies diese dieser dieses doch dort du durch ein eine einem einen einer eines er es für gegen hat habe haben hier ich ihr im in ist ja jede jeder kann können man mein mich mir mit muss nach nicht noch nur oder ohne sehr sein sich sie sind so soll über um und uns unser unter vom von vor wann war warum was weil welche wenn wer werden wie wieder wir wird wo zu zum zur zwischen",
		},
		{
			code:   "fr",
			stem:   french.Stem,
			elides: true,
			stops:  "à au aux avec ce ces cet cette comme comment dans de des donc du elle elles en est et être eux faire il ils je la le les leur leurs lui ma mais me même mes moi mon ne nos notre nous on ou où par pas pour pourquoi quand que quel quelle quelles quels qui quoi sa sans se ses si son sont sur ta te tes toi ton tu un une vos votre vous y a ont peut c d j l m n s t qu",
		},
		{
			code:  "es",
			stem:  spanish.Stem,
			stops: "a al algo ante antes como cómo con contra cual cuál cuando cuándo de del desde donde dónde dos e el él ella ellas ellos en entre era es esa ese eso esta está estas este esto estos ha hace hacer hasta hay la las le les lo los más me mi mis mucho muy no nos o otra otro para pero por porque puede puedo que qué quien quién se ser si sí sin sobre son su sus también te tiene tu tus un una uno unos y ya yo",
		},
		{
			code:   "it",
			stem:   italian.Stem,
			elides: true,
			stops:  "a ad ai al alla alle anche che chi ci come con cosa cui da dal dalla dei del della delle di dove e è ed gli ha ho i il in io la le lei lo loro lui ma mi mia mio ne nei nel nella non o ogni per perché più può quale quando quello questa questo se senza si sia sono sua sul sulla suo ti tra tu tua tuo un una uno vi c d l dell nell all sull",
		},
		{
			code:  "pt",
			stem:  portuguese.Stem,
			stops: "a ao aos as até com como da das de dela dele do dos e é ela elas ele eles em entre era essa esse esta está este eu foi há isso isto já lhe mais mas me mesmo meu minha muito na não nas nem no nos nós o onde os ou para pela pelo pode por porque posso qual quando que quem são se sem ser seu seus sua suas também te tem teu tu um uma você",
		},
		{
			code:  "nl",
			stem:  dutch.Stem,
			stops: "aan al alle als bij dan dat de deze die dit doen door een en er geen haar had hebben heeft het hier hij hoe ik in is je kan kunnen maar me meer met mij mijn moet na naar niet nog nu of om omdat ons ook op over te tegen toen tot u uit uw van veel voor waar waarom want waren was wat we welke wel werd wie wij worden wordt zal ze zich zij zijn zo zonder zou",
		},
		{
			code:  "sv",
			stem:  swedish.Stem,
			stops: "alla allt att av blev bli blir de dem den denna deras dess det detta dig din ditt du där då efter ej eller en er ett från för ha hade han hans har hennes hon hur här i icke inom inte jag ju kan kunde man med mellan men mig min mot mycket ni nu när någon något några och om oss på samma sedan sig sin sina skulle som så till under upp ut vad var varför vara vi vid vilken är över",
		},
		{
			code:  "da",
			stem:  danish.Stem,
			stops: "ad af alle alt anden at blev bliver da de dem den denne der deres det dette dig din disse dog du efter eller en end er et for fra ham han hans har havde hende her hos hun hvad hvem hvis hvor hvordan hvorfor i ikke ind jeg jo kan man mange med meget men mig min mod mon ned noget nogle nu når og også om op os over på selv sig sin skal skulle som sådan til ud under var vi vil ville være",
		},
		{
			code:  "no",
			stem:  norwegian.Stem,
			stops: "alle at av både ble bli blir da de deg dem den denne der dere det dette din disse du eller en er et etter for fra før ha hadde han har henne her hos hun hva hvem hver hvilken hvis hvor hvordan hvorfor i ikke inn jeg kan kunne man med meg mellom men min mot mye nå når og også om opp oss over på seg selv sin skal skulle slik som så til ut var vi vil ville være",
		},
		{
			code:  "fi",
			stem:  finnish.Stem,
			stops: "ei eivät emme en ette että ja jo joka jos jota jotka kaikki kanssa koska kuin kuinka kuka kun me mihin mikä miksi millä minä missä miten mitä mukaan mutta myös ne niin nyt näin ole olen olet oli olisi olla on ovat se sekä sen siellä siitä sitten sitä tai te toinen tämä tätä vaan vai vain voi",
		},
		{
			code:  "ro",
			stem:  romanian.Stem,
			stops: "a acea acest această ai al ale am ar are așa au ca care când ce cel cine cu cum da dar de decât din doar după ea ei el este eu fi fie fost iar în însă la le li lor lui mai mea meu mi ne ni noi nu o pe pentru prin sa sau se si și sunt tău te toate tot tu un una unde unei unui va voi",
		},
		{
			code:  "hu",
			stem:  hungarian.Stem,
			stops: "a abban ahhoz aki akkor alatt amely ami amit az azok azt azért be csak de e egy egyik el elő én ez ezek ezt fel ha hanem hogy hogyan hol is itt ki kell le lehet lesz ma már meg melyik mely mert mi mint minden miért mit mi nagyon nem ne ő ott össze s sem sok szerint ti több úgy után vagy van vannak volt",
		},
		{
			code:  "tr",
			stem:  turkish.Stem,
			stops: "ama ancak bana bazı belki ben beni benim bir biri birkaç biz bu buna bunu bunun çok çünkü da daha de defa diye eğer en gibi hangi hem hep hepsi her hiç için ile ise kadar ki kim mı mi mu mü nasıl ne neden nerede niye o olan olarak on ona onlar onu onun sanki şey siz sonra şu tüm ve veya ya yani",
		},
		{
			code:  "ru",
			stem:  russian.Stem,
			stops: "а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее если есть еще же за здесь и из или им их к как какая какой когда кто ли меня мне может мой мы на надо нас не него нет ни но ну о об он она они от по под при с со так также там то того тоже только у уже чего чем что чтобы эта эти это этот я",
		},
	}
}

// languageOf returns the language with a code such as "pt-BR". Unknown languages have
// neither a stemmer nor stop words.
func languageOf(code string) language {
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(code, "_", "-")), "-")
	switch base {
	case "nb", "nn":
		base = "no"
	}
	for _, l := range languages() {
		if l.code == base {
			return l
		}
	}
	return language{code: base}
}

// Detect guesses the language of a text from its stop words. It returns the code of a
// supported language, or "" if none stands out.
func Detect(text string) string {
	counts := make(map[string]int)
	total := 0
	for word := range strings.FieldsFuncSeq(strings.ToLower(text),
		func(r rune) bool { return !isWordRune(r) && r != '\'' }) {
		counts[word]++
		if total++; total >= maxDetected {
			break
		}
	}
	best, most, second := "", 0, 0
	for _, l := range languages() {
		n := 0
		for stop := range strings.FieldsSeq(l.stops) {
			n += counts[stop]
		}
		if n > most {
			best, most, second = l.code, n, most
		} else if n > second {
			second = n
		}
	}
	// In running text of any of these languages, at least a sixth of the words are stop
	// words.
	if most*8 < total || most*10 < second*11 {
		return ""
	}
	return best
}

// maxDetected is the number of words examined to detect the language.
const maxDetected = 20_000
