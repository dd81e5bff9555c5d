// The stemmer is generated from github.com/blevesearch/snowballstem/english. Do not edit.

/*!
Copyright (c) 2001, Dr Martin Porter
Copyright (c) 2004,2005, Richard Boulton
Copyright (c) 2013, Yoshiki Shibukawa
Copyright (c) 2006,2007,2009,2010,2011,2014-2019, Olly Betts
All rights reserved.

Redistribution and use in source and binary forms, with or without
modification, are permitted provided that the following conditions
are met:

  1. Redistributions of source code must retain the above copyright notice,
     this list of conditions and the following disclaimer.
  2. Redistributions in binary form must reproduce the above copyright notice,
     this list of conditions and the following disclaimer in the documentation
     and/or other materials provided with the distribution.
  3. Neither the name of the Snowball project nor the names of its contributors
     may be used to endorse or promote products derived from this software
     without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND
ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED
WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT OWNER OR CONTRIBUTORS BE LIABLE FOR
ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES
(INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES;
LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON
ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT
(INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS
SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
*/

const LANGUAGE = { code: "en", stops: "a about after all also am an and any are as at be because been before being between both but by can could did do does doing don't for from get had has have having he her here him his how i if in into is it its it's just me more most my need no not of off on once one only or other our out over own same she should so some such than that the their them then there these they this those through to too under until up very want was we were what when where which while who whom why will with would you your", weak: "able above across actually again against almost alone along already although always among another anyone anything anyway anywhere apart around aside available away become becomes behind below best better beyond came cannot certain come comes coming different down during each eight either else elsewhere enough especially even ever every everybody everyone everything everywhere exactly far few first five four further gave gets getting give given gives giving goes going gone got happen happened happens however instead itself keep keeps kept knew know known knows last later least less little look looking looks made makes making many may maybe mean means might much must myself nearly necessary needed needs neither nine nobody nothing now often old onto others otherwise ours per please possible rather really said saw say saying says see seeing seem seemed seems seen seven several shall since six someone something sometimes somewhere soon still take taken takes taking tell tells ten theirs themselves thing things think thinks third though three took towards tried tries try trying twice two us use used useful uses using wants way well went whatever whenever whether whole whose within without yet yours yourself", related: "allow permit grant let>author permiss access allow allowlist polici\nforbid deni block prohibit refus reject prevent ban disallow>deni block denylist restrict polici\nenabl activ switch>enabl option set flag\ndisabl deactiv>disabl skip option\npassword passphras pin credenti>password credenti secret authent\nsecret confidenti sensit privat+key>secret credenti token encrypt environ\ntoken apikey>key token credenti apikey\nlogin ident authent>authent login session sso oauth oidc\naccount compani+account staff employe member colleagu>user account ident sso member\nright role admin administr>role permiss rbac author\nsafe secur protect harden>secur protect\nattack hacker abus malici threat exploit>secur protect vulner\nhole weak vulner flaw>vulner secur audit advisori\nsign signatur genuin authent tamper>signatur verifi sign integr\nhttps ssl cert>tls certif https\ntrust trustworthi>trust verifi\nencrypt decrypt unread>encrypt tls cipher\nmask obscur hide>redact mask hidden\nforg forgeri fake+request>csrf token\ntrail record>audit log record histori\nhistori past earlier previous former>histori revis version log\nwrong fail broken break problem troubl bug>error failur troubleshoot debug except\ncrash die kill panic>panic recov except crash restart\nrepair fix solv cure>troubleshoot fix error\nwarn complain nag>warn error lint\nmessag word notic>messag templat notif\ndiagnos investig inspect>debug inspect diagnost trace\nwatch observ monitor keep+eye>monitor metric watch observ\ngraph chart plot statist figur number>metric dashboard chart statist\ncount mani amount>count metric total limit\nprint>log consol output stdout print\naccess+log>logger log middlewar\nslow slowli sluggish hang stuck lag>perform timeout latenc profil\nfast fastest quick quicker faster speed>perform optim cach speed\nheavi busi overload pressur>load scale limit perform backpressur\nleak memori ram>memori heap leak profil\nhotspot cpu bottleneck profil>profil perform\nwait patienc long+time>timeout delay wait\noften frequent rapid flood>rate limit throttl\nquota throttl maximum>rate limit quota throttl\nminut second hour interv>interv durat timeout period\nnight daili week hour regular period everi+day>schedul cron interv timer job\nlater afterward postpon defer delay>delay schedul queue background\nsimultan togeth parallel>concurr parallel\nbackground meanwhil asynchron>background async worker queue job\nstop abort cancel end quit interrupt>stop cancel abort shutdown signal\ngrace clean tidi cleanup>grace shutdown cleanup\nstart begin launch boot>start startup launch\nreload refresh live+updat>reload refresh watch\nagain repeat retri tri+again>retri repeat backoff\nsurviv outag unavail down goe+down>avail failov redund recoveri replica\nmachin comput box node>server host node instanc\ncopi clone>copi clone replica duplic\ntwice duplic thrice>duplic dedup uniqu\nspread distribut balanc divid>distribut balanc shard load\ngrow bigger larger enlarg>scale resiz\nsmall smaller shrink squeez reduc compact>compress minifi reduc size\nsize big huge larg biggest>size limit maximum\nsave keep kept store preserv>store persist save storag\nrememb>cach session store persist cooki memori\nrestor undo revert>restor rollback revert undo backup\nlose lost>backup persist recoveri\neras remov delet drop clear wipe rid unwant>delet remov prune purg clear uninstal\nold older outdat stale expir obsolet>expir outdat deprec retent\nnew newest newer latest>version upgrad updat releas latest\nmove>migrat upgrad\nchang modifi edit updat alter adjust>updat modifi edit patch set\nset choos pick select>set option configur select\nset option prefer configur adjust>configur option set paramet\ncustom person adapt>custom extend plugin\nextend addon addit extra>extens plugin hook middlewar\nshow list display view see visibl>show view display list\nlook find search discov>search find queri discoveri\nread open>read load\nsend push give deliv post>send push publish request\npublish releas share public>publish releas deploy\ntell inform notifi ping alert remind>notif alert notifi webhook\nmail chat>notif email slack webhook\nhappen occur event>event hook webhook listen trigger\nreact respond handl>handler event listen hook\naround>hook lifecycl middlewar\norder first sequenc>order prioriti sequenc\ncondit depend>condit filter rule\nrule>rule polici\nmatch pattern wildcard>pattern match glob regex\ncheck verifi valid correct>valid verifi check\nmalform invalid bad+input>valid invalid error schema\nshape form structur>schema format structur type\ntype type+safe>type typescript schema\nconvert turn transform translat>convert transform pars encod\ninterpret understand>pars parser\nsplit cut piec part>split chunk partit\nsort arrang>sort order\nmani+result long+list>pagin page cursor\nrow column spreadsheet>tabl column queri csv\nsql record relat>databas sql queri\nfolder directori>directori folder path\nplace locat>path locat directori\ncall renam name>name alia renam\naddress link>url address link rout endpoint\naddress path>rout url\nsite hostnam domain>domain host hostnam\ndoor listen>port listen\ninternet outsid onlin reachabl expos>expos public ingress proxi\ncompani corpor intern privat intranet>privat intern registri\nanoth+site anoth+domain cross>cor origin\nforward pass redirect relay>proxi forward redirect\nfront behind>proxi gateway\nconnect talk communic>connect socket client\ndirect realtim live instant constant>websocket realtim stream\ngradual>stream chunk\nbrowser tab webpag>browser web page client\nvisitor custom person peopl someon>user client\nupload photo pictur attach>upload file imag\npictur photo logo imag>imag icon\ncolour color look appear design pretti>theme style css\nlanguag countri translat>local i18n languag\nphone mobil tablet app>mobil io android nativ\nbutton click press>button event click action\nscreen termin window>termin screen consol\nplayground experi>playground demo exampl\nbeginn learn begin introduct newcom>tutori guid introduct quickstart\nexampl sampl>exampl templat\npretend fake dummi imit simul>mock test fake stub\ntest>test\ncompar differ>diff compar comparison\nmeasur benchmark>benchmark perform metric\ncover untest>coverag\nbuild compil make produc>build compil generat bundl\ninstal setup>instal setup\nuninstal>remov uninstal\nlock exact frozen fix reproduc>lock lockfil pin version\nmonorepo>workspac monorepo\nproject repositori repo>repositori project workspac\nteam depart organ>team organ project namespac tenant\nisol separ apart>isol namespac tenant sandbox\nrestrict>restrict limit allowlist\ncontain docker>contain docker imag\ncloud host provid>deploy host cloud\nautom automat>autom script ci auto\npipelin build+server>ci pipelin integr\ncommand flag argument switch>command flag argument option cli\nenviron variabl>environ variabl env\nshare+valu everywher global anywher>context global state share\nreus>reus cach\nstore+answer cach>cach\nuniqu identifi number id>id identifi uuid\nrandom>random uuid\nfollow track trace>trace track correl\ndate timezon calendar clock>time date timestamp timezon\nmoney cost price pay bill expens cheap charg>bill cost usag price\nusag consumpt consum spent>usag metric\naliv healthi fine ok well>health live readi check status\nprogram applic tool>applic program command\nfunction callback>function callback handler\nthread>worker thread process\nnativ>nativ ffi addon\ncommand+line shell>shell cli termin command\nsingl+file standalon>execut binari standalon\nquestion ask>queri question prompt\nanswer repli>respons answer\nbodi content>bodi content payload\nheader>header metadata\nconvers chat dialogu talk>chat messag convers\nrobot bot crawler googl>robot sitemap seo crawler\nsearch+engin>seo metadata sitemap\nmenu sidebar>navig menu\nblind disabl+peopl reader>access\ncombin pair>matrix combin\nignor skip exclud omit>ignor exclud skip filter\nmiss absent>miss found error\nempti noth>empti null\nrequir mandatori must>requir valid\ntemporari temporarili>temporari temp\nperman forev>persist\nlocal offlin laptop>local offlin develop\nproduct real>product deploy\ndebugg breakpoint>debugg inspect\ndocument describ descript>descript document openapi\nintern work>architectur concept overview lifecycl\nexplain reason>explain troubleshoot\ncompat support>compat support\ncontribut particip>contribut develop\npaus suspend hold>paus suspend skip\nschedul calendar window>schedul window cron\nnest insid within>nest group\nprefix>prefix namespac\ndefault+valu fallback>default fallback\ntraffic request>traffic request rout\nrout>rout router\ngateway>gateway proxi\nbalanc>load balanc\nsticki>sticki session affin\ncanari gradual percent>canari weight progress rollout\ndeploy rollout>deploy rollout\nhash fingerprint checksum>hash checksum digest\nunchang modifi>etag cach condit\nbinari byte raw>binari buffer\njson xml yaml>json format pars\nescap special+charact>escap encod\nplacehold variabl+part>paramet templat variabl\nplug plugin>plugin extens\nsound voic speak speech spoken record>audio speech transcript\nmean similar>embed semant similar\nmodel ai llm>model llm provid\ncreativ temperatur>temperatur set\ntoken length>token usag limit", elides: false };

const stem = (() => {
const A_0 = [["arsen",-1,-1],["commun",-1,-1],["gener",-1,-1]];
const A_1 = [["'",-1,1],["'s'",0,1],["'s",-1,1]];
const A_2 = [["ied",-1,2],["s",-1,3],["ies",1,2],["sses",1,1],["ss",1,-1],["us",1,-1]];
const A_3 = [["",-1,3],["bb",0,2],["dd",0,2],["ff",0,2],["gg",0,2],["bl",0,1],["mm",0,2],["nn",0,2],["pp",0,2],["rr",0,2],["at",0,1],["tt",0,2],["iz",0,1]];
const A_4 = [["ed",-1,2],["eed",0,1],["ing",-1,2],["edly",-1,2],["eedly",3,1],["ingly",-1,2]];
const A_5 = [["anci",-1,3],["enci",-1,2],["ogi",-1,13],["li",-1,16],["bli",3,12],["abli",4,4],["alli",3,8],["fulli",3,14],["lessli",3,15],["ousli",3,10],["entli",3,5],["aliti",-1,8],["biliti",-1,12],["iviti",-1,11],["tional",-1,1],["ational",14,7],["alism",-1,8],["ation",-1,7],["ization",17,6],["izer",-1,6],["ator",-1,7],["iveness",-1,11],["fulness",-1,9],["ousness",-1,10]];
const A_6 = [["icate",-1,4],["ative",-1,6],["alize",-1,3],["iciti",-1,4],["ical",-1,4],["tional",-1,1],["ational",5,2],["ful",-1,5],["ness",-1,5]];
const A_7 = [["ic",-1,1],["ance",-1,1],["ence",-1,1],["able",-1,1],["ible",-1,1],["ate",-1,1],["ive",-1,1],["ize",-1,1],["iti",-1,1],["al",-1,1],["ism",-1,1],["ion",-1,2],["er",-1,1],["ous",-1,1],["ant",-1,1],["ent",-1,1],["ment",15,1],["ement",16,1]];
const A_8 = [["e",-1,1],["l",-1,2]];
const A_9 = [["succeed",-1,-1],["proceed",-1,-1],["exceed",-1,-1],["canning",-1,-1],["inning",-1,-1],["earring",-1,-1],["herring",-1,-1],["outing",-1,-1]];
const A_10 = [["andes",-1,-1],["atlas",-1,-1],["bias",-1,-1],["cosmos",-1,-1],["dying",-1,3],["early",-1,9],["gently",-1,7],["howe",-1,-1],["idly",-1,6],["lying",-1,4],["news",-1,-1],["only",-1,10],["singly",-1,11],["skies",-1,2],["skis",-1,1],["sky",-1,-1],["tying",-1,5],["ugly",-1,8]];
const G_v = [17,65,16,1];
const G_v_WXY = [1,17,65,208,1];
const G_valid_LI = [55,141,2];
function r_prelude(e, context) {
context.b_Y_found = false;
let v_1 = e.c;
lab0: while (true) {
e.bra = e.c;
if (!e.eq("'")) {
break lab0;
}
e.ket = e.c;
if (!e.sliceDel()) {
return false;
}
break lab0;
}
e.c = v_1;
let v_2 = e.c;
lab1: while (true) {
e.bra = e.c;
if (!e.eq("y")) {
break lab1;
}
e.ket = e.c;
if (!e.sliceFrom("Y")) {
return false;
}
context.b_Y_found = true;
break lab1;
}
e.c = v_2;
let v_3 = e.c;
lab2: while (true) {
replab3: while (true) {
let v_4 = e.c;
lab4: for (let round = 0; round < 2; round++) {
golab5: while (true) {
let v_5 = e.c;
lab6: while (true) {
if (!e.inGrouping(G_v, 97, 121)) {
break lab6;
}
e.bra = e.c;
if (!e.eq("y")) {
break lab6;
}
e.ket = e.c;
e.c = v_5;
break golab5;
}
e.c = v_5;
if (e.c >= e.l) {
break lab4;
}
e.next();
}
if (!e.sliceFrom("Y")) {
return false;
}
context.b_Y_found = true;
continue replab3;
}
e.c = v_4;
break replab3;
}
break lab2;
}
e.c = v_3;
return true;
}
function r_mark_regions(e, context) {
context.i_p1 = e.l;
context.i_p2 = e.l;
let v_1 = e.c;
lab0: while (true) {
lab1: while (true) {
let v_2 = e.c;
lab2: while (true) {
if (e.among(A_0, context) === 0) {
break lab2;
}
break lab1;
}
e.c = v_2;
golab3: while (true) {
lab4: while (true) {
if (!e.inGrouping(G_v, 97, 121)) {
break lab4;
}
break golab3;
}
if (e.c >= e.l) {
break lab0;
}
e.next();
}
golab5: while (true) {
lab6: while (true) {
if (!e.outGrouping(G_v, 97, 121)) {
break lab6;
}
break golab5;
}
if (e.c >= e.l) {
break lab0;
}
e.next();
}
break lab1;
}
context.i_p1 = e.c;
golab7: while (true) {
lab8: while (true) {
if (!e.inGrouping(G_v, 97, 121)) {
break lab8;
}
break golab7;
}
if (e.c >= e.l) {
break lab0;
}
e.next();
}
golab9: while (true) {
lab10: while (true) {
if (!e.outGrouping(G_v, 97, 121)) {
break lab10;
}
break golab9;
}
if (e.c >= e.l) {
break lab0;
}
e.next();
}
context.i_p2 = e.c;
break lab0;
}
e.c = v_1;
return true;
}
function r_shortv(e, context) {
lab0: while (true) {
let v_1 = e.l - e.c;
lab1: while (true) {
if (!e.outGroupingB(G_v_WXY, 89, 121)) {
break lab1;
}
if (!e.inGroupingB(G_v, 97, 121)) {
break lab1;
}
if (!e.outGroupingB(G_v, 97, 121)) {
break lab1;
}
break lab0;
}
e.c = e.l - v_1;
if (!e.outGroupingB(G_v, 97, 121)) {
return false;
}
if (!e.inGroupingB(G_v, 97, 121)) {
return false;
}
if (e.c > e.lb) {
return false;
}
break lab0;
}
return true;
}
function r_R1(e, context) {
if (!(context.i_p1 <= e.c)) {
return false;
}
return true;
}
function r_R2(e, context) {
if (!(context.i_p2 <= e.c)) {
return false;
}
return true;
}
function r_Step_1a(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
lab0: while (true) {
e.ket = e.c;
among_var = e.amongB(A_1, context);
if (among_var === 0) {
e.c = e.l - v_1;
break lab0;
}
e.bra = e.c;
if (among_var === 0) {
e.c = e.l - v_1;
break lab0;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
}
break lab0;
}
e.ket = e.c;
among_var = e.amongB(A_2, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceFrom("ss")) {
return false;
}
} else if (among_var === 2) {
lab1: while (true) {
let v_2 = e.l - e.c;
lab2: while (true) {
{
let c = e.hop(-(2));
if (e.lb > c || c > e.l) {
break lab2;
}
e.c = c;
}
if (!e.sliceFrom("i")) {
return false;
}
break lab1;
}
e.c = e.l - v_2;
if (!e.sliceFrom("ie")) {
return false;
}
break lab1;
}
} else if (among_var === 3) {
if (e.c <= e.lb) {
return false;
}
e.prev();
golab3: while (true) {
lab4: while (true) {
if (!e.inGroupingB(G_v, 97, 121)) {
break lab4;
}
break golab3;
}
if (e.c <= e.lb) {
return false;
}
e.prev();
}
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function r_Step_1b(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_4, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!r_R1(e, context)) {
return false;
}
if (!e.sliceFrom("ee")) {
return false;
}
} else if (among_var === 2) {
let v_1 = e.l - e.c;
golab0: while (true) {
lab1: while (true) {
if (!e.inGroupingB(G_v, 97, 121)) {
break lab1;
}
break golab0;
}
if (e.c <= e.lb) {
return false;
}
e.prev();
}
e.c = e.l - v_1;
if (!e.sliceDel()) {
return false;
}
let v_3 = e.l - e.c;
among_var = e.amongB(A_3, context);
if (among_var === 0) {
return false;
}
e.c = e.l - v_3;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
{
let c = e.c;
let bra = e.c;
let ket = e.c;
e.insert(bra, ket, "e");
e.c = c;
}
} else if (among_var === 2) {
e.ket = e.c;
if (e.c <= e.lb) {
return false;
}
e.prev();
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 3) {
if (e.c !== context.i_p1) {
return false;
}
let v_4 = e.l - e.c;
if (!r_shortv(e, context)) {
return false;
}
e.c = e.l - v_4;
{
let c = e.c;
let bra = e.c;
let ket = e.c;
e.insert(bra, ket, "e");
e.c = c;
}
}
}
return true;
}
function r_Step_1c(e, context) {
e.ket = e.c;
lab0: while (true) {
let v_1 = e.l - e.c;
lab1: while (true) {
if (!e.eqB("y")) {
break lab1;
}
break lab0;
}
e.c = e.l - v_1;
if (!e.eqB("Y")) {
return false;
}
break lab0;
}
e.bra = e.c;
if (!e.outGroupingB(G_v, 97, 121)) {
return false;
}
let v_2 = e.l - e.c;
lab2: while (true) {
if (e.c > e.lb) {
break lab2;
}
return false;
}
e.c = e.l - v_2;
if (!e.sliceFrom("i")) {
return false;
}
return true;
}
function r_Step_2(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_5, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (!r_R1(e, context)) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceFrom("tion")) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("ence")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceFrom("ance")) {
return false;
}
} else if (among_var === 4) {
if (!e.sliceFrom("able")) {
return false;
}
} else if (among_var === 5) {
if (!e.sliceFrom("ent")) {
return false;
}
} else if (among_var === 6) {
if (!e.sliceFrom("ize")) {
return false;
}
} else if (among_var === 7) {
if (!e.sliceFrom("ate")) {
return false;
}
} else if (among_var === 8) {
if (!e.sliceFrom("al")) {
return false;
}
} else if (among_var === 9) {
if (!e.sliceFrom("ful")) {
return false;
}
} else if (among_var === 10) {
if (!e.sliceFrom("ous")) {
return false;
}
} else if (among_var === 11) {
if (!e.sliceFrom("ive")) {
return false;
}
} else if (among_var === 12) {
if (!e.sliceFrom("ble")) {
return false;
}
} else if (among_var === 13) {
if (!e.eqB("l")) {
return false;
}
if (!e.sliceFrom("og")) {
return false;
}
} else if (among_var === 14) {
if (!e.sliceFrom("ful")) {
return false;
}
} else if (among_var === 15) {
if (!e.sliceFrom("less")) {
return false;
}
} else if (among_var === 16) {
if (!e.inGroupingB(G_valid_LI, 99, 116)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function r_Step_3(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_6, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (!r_R1(e, context)) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceFrom("tion")) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("ate")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceFrom("al")) {
return false;
}
} else if (among_var === 4) {
if (!e.sliceFrom("ic")) {
return false;
}
} else if (among_var === 5) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 6) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function r_Step_4(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_7, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (!r_R2(e, context)) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
lab0: while (true) {
let v_1 = e.l - e.c;
lab1: while (true) {
if (!e.eqB("s")) {
break lab1;
}
break lab0;
}
e.c = e.l - v_1;
if (!e.eqB("t")) {
return false;
}
break lab0;
}
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function r_Step_5(e, context) {
let among_var = 0;
e.ket = e.c;
among_var = e.amongB(A_8, context);
if (among_var === 0) {
return false;
}
e.bra = e.c;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
lab0: while (true) {
let v_1 = e.l - e.c;
lab1: while (true) {
if (!r_R2(e, context)) {
break lab1;
}
break lab0;
}
e.c = e.l - v_1;
if (!r_R1(e, context)) {
return false;
}
let v_2 = e.l - e.c;
lab2: while (true) {
if (!r_shortv(e, context)) {
break lab2;
}
return false;
}
e.c = e.l - v_2;
break lab0;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!r_R2(e, context)) {
return false;
}
if (!e.eqB("l")) {
return false;
}
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function r_exception2(e, context) {
e.ket = e.c;
if (e.amongB(A_9, context) === 0) {
return false;
}
e.bra = e.c;
if (e.c > e.lb) {
return false;
}
return true;
}
function r_exception1(e, context) {
let among_var = 0;
e.bra = e.c;
among_var = e.among(A_10, context);
if (among_var === 0) {
return false;
}
e.ket = e.c;
if (e.c < e.l) {
return false;
}
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceFrom("ski")) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("sky")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceFrom("die")) {
return false;
}
} else if (among_var === 4) {
if (!e.sliceFrom("lie")) {
return false;
}
} else if (among_var === 5) {
if (!e.sliceFrom("tie")) {
return false;
}
} else if (among_var === 6) {
if (!e.sliceFrom("idl")) {
return false;
}
} else if (among_var === 7) {
if (!e.sliceFrom("gentl")) {
return false;
}
} else if (among_var === 8) {
if (!e.sliceFrom("ugli")) {
return false;
}
} else if (among_var === 9) {
if (!e.sliceFrom("earli")) {
return false;
}
} else if (among_var === 10) {
if (!e.sliceFrom("onli")) {
return false;
}
} else if (among_var === 11) {
if (!e.sliceFrom("singl")) {
return false;
}
}
return true;
}
function r_postlude(e, context) {
if (!context.b_Y_found) {
return false;
}
replab0: while (true) {
let v_1 = e.c;
lab1: for (let round = 0; round < 2; round++) {
golab2: while (true) {
let v_2 = e.c;
lab3: while (true) {
e.bra = e.c;
if (!e.eq("Y")) {
break lab3;
}
e.ket = e.c;
e.c = v_2;
break golab2;
}
e.c = v_2;
if (e.c >= e.l) {
break lab1;
}
e.next();
}
if (!e.sliceFrom("y")) {
return false;
}
continue replab0;
}
e.c = v_1;
break replab0;
}
return true;
}
function Stem(e) {
let context = { b_Y_found: false, i_p2: 0, i_p1: 0 };
lab0: while (true) {
let v_1 = e.c;
lab1: while (true) {
if (!r_exception1(e, context)) {
break lab1;
}
break lab0;
}
e.c = v_1;
lab2: while (true) {
let v_2 = e.c;
lab3: while (true) {
{
let c = e.hop((3));
if (0 > c || c > e.l) {
break lab3;
}
e.c = c;
}
break lab2;
}
e.c = v_2;
break lab0;
}
e.c = v_1;
let v_3 = e.c;
lab4: while (true) {
if (!r_prelude(e, context)) {
break lab4;
}
break lab4;
}
e.c = v_3;
let v_4 = e.c;
lab5: while (true) {
if (!r_mark_regions(e, context)) {
break lab5;
}
break lab5;
}
e.c = v_4;
e.lb = e.c;
e.c = e.l;
let v_5 = e.l - e.c;
lab6: while (true) {
if (!r_Step_1a(e, context)) {
break lab6;
}
break lab6;
}
e.c = e.l - v_5;
lab7: while (true) {
let v_6 = e.l - e.c;
lab8: while (true) {
if (!r_exception2(e, context)) {
break lab8;
}
break lab7;
}
e.c = e.l - v_6;
let v_7 = e.l - e.c;
lab9: while (true) {
if (!r_Step_1b(e, context)) {
break lab9;
}
break lab9;
}
e.c = e.l - v_7;
let v_8 = e.l - e.c;
lab10: while (true) {
if (!r_Step_1c(e, context)) {
break lab10;
}
break lab10;
}
e.c = e.l - v_8;
let v_9 = e.l - e.c;
lab11: while (true) {
if (!r_Step_2(e, context)) {
break lab11;
}
break lab11;
}
e.c = e.l - v_9;
let v_10 = e.l - e.c;
lab12: while (true) {
if (!r_Step_3(e, context)) {
break lab12;
}
break lab12;
}
e.c = e.l - v_10;
let v_11 = e.l - e.c;
lab13: while (true) {
if (!r_Step_4(e, context)) {
break lab13;
}
break lab13;
}
e.c = e.l - v_11;
let v_12 = e.l - e.c;
lab14: while (true) {
if (!r_Step_5(e, context)) {
break lab14;
}
break lab14;
}
e.c = e.l - v_12;
break lab7;
}
e.c = e.lb;
let v_13 = e.c;
lab15: while (true) {
if (!r_postlude(e, context)) {
break lab15;
}
break lab15;
}
e.c = v_13;
break lab0;
}
return true;
}
return (word) => {
  machine.set(word);
  Stem(machine);
  return machine.s;
};
})();
