(()=>{function X(i){if(i<128)return i<<16;const n=(128|i&63)<<16;return i<2048?n|(192|i>>6)<<8:n|(128|i>>6&63)<<8|(224|i>>12)}const A={set(i){Object.assign(this,{s:i,c:0,l:i.length,lb:0,bra:0,ket:i.length})},replace(i,n,a){const o=a.length-(n-i);return this.s=this.s.slice(0,i)+a+this.s.slice(Math.max(i,n)),this.l+=o,this.c>=n?this.c+=o:this.c>i&&(this.c=i),o},sliceFrom(i){return this.replace(this.bra,this.ket,i),!0},sliceDel(){return this.sliceFrom("")},sliceTo(){return this.s.slice(this.bra,this.ket)},insert(i,n,a){const o=this.replace(i,n,a);i<=this.bra&&(this.bra+=o),i<=this.ket&&(this.ket+=o)},next(){this.c++},prev(){this.c--},hop(i){return this.c+i},eq(i){return this.c>=this.l||!this.s.startsWith(i,this.c)?!1:(this.c+=i.length,!0)},eqB(i){return this.c-this.lb<i.length||!this.s.startsWith(i,this.c-i.length)?!1:(this.c-=i.length,!0)},has(i,n,a,o){const d=this.s.charCodeAt(i)-a;return d>=0&&d<=o-a&&(n[d>>3]&1<<(d&7))!==0},inGrouping(i,n,a){return this.c>=this.l||!this.has(this.c,i,n,a)?!1:(this.c++,!0)},outGrouping(i,n,a){return this.c>=this.l||this.has(this.c,i,n,a)?!1:(this.c++,!0)},inGroupingB(i,n,a){return this.c<=this.lb||!this.has(this.c-1,i,n,a)?!1:(this.c--,!0)},outGroupingB(i,n,a){return this.c<=this.lb||this.has(this.c-1,i,n,a)?!1:(this.c--,!0)},among(i,n){return this.find(i,n,1)},amongB(i,n){return this.find(i,n,-1)},find(i,n,a){const{c:o,s:d}=this,G=a>0?this.l-o:o-this.lb,q=a>0?l=>l:X;let u=0,w=i.length,y=0,F=0;for(let l=!1;;){const m=u+(w-u>>1),b=i[m][0];let c=Math.min(y,F),_=0;for(;c<b.length;){const x=a>0?o+c:o-c-1,v=a>0?c:b.length-c-1;if(_=c===G?-1:q(d.charCodeAt(x))-q(b.charCodeAt(v)),_!==0)break;c++}if(_<0?[w,F]=[m,c]:[u,y]=[m,c],!(w-u>1)){if(u>0||w===u||l)break;l=!0}}for(;u>=0;u=i[u][1]){const[l,,m,b]=i[u];if(y<l.length)continue;if(this.c=o+a*l.length,!b)return m;const c=b(this,n);if(this.c=o+a*l.length,c)return m}return 0}};/*!
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
*/const H={code:"en",stops:"a about after all also am an and any are as at be because been before being between both but by can could did do does doing don't for from get had has have having he her here him his how i if in into is it its it's just me more most my need no not of off on once one only or other our out over own same she should so some such than that the their them then there these they this those through to too under until up very want was we were what when where which while who whom why will with would you your",weak:"able above across actually again against almost alone along already although always among another anyone anything anyway anywhere apart around aside available away become becomes behind below best better beyond came cannot certain come comes coming different down during each eight either else elsewhere enough especially even ever every everybody everyone everything everywhere exactly far few first five four further gave gets getting give given gives giving goes going gone got happen happened happens however instead itself keep keeps kept knew know known knows last later least less little look looking looks made makes making many may maybe mean means might much must myself nearly necessary needed needs neither nine nobody nothing now often old onto others otherwise ours per please possible rather really said saw say saying says see seeing seem seemed seems seen seven several shall since six someone something sometimes somewhere soon still take taken takes taking tell tells ten theirs themselves thing things think thinks third though three took towards tried tries try trying twice two us use used useful uses using wants way well went whatever whenever whether whole whose within without yet yours yourself",related:`allow permit grant let>author permiss access allow allowlist polici
forbid deni block prohibit refus reject prevent ban disallow>deni block denylist restrict polici
enabl activ switch>enabl option set flag
disabl deactiv>disabl skip option
password passphras pin credenti>password credenti secret authent
secret confidenti sensit privat+key>secret credenti token encrypt environ
token apikey>key token credenti apikey
login ident authent>authent login session sso oauth oidc
account compani+account staff employe member colleagu>user account ident sso member
right role admin administr>role permiss rbac author
safe secur protect harden>secur protect
attack hacker abus malici threat exploit>secur protect vulner
hole weak vulner flaw>vulner secur audit advisori
sign signatur genuin authent tamper>signatur verifi sign integr
https ssl cert>tls certif https
trust trustworthi>trust verifi
encrypt decrypt unread>encrypt tls cipher
mask obscur hide>redact mask hidden
forg forgeri fake+request>csrf token
trail record>audit log record histori
histori past earlier previous former>histori revis version log
wrong fail broken break problem troubl bug>error failur troubleshoot debug except
crash die kill panic>panic recov except crash restart
repair fix solv cure>troubleshoot fix error
warn complain nag>warn error lint
messag word notic>messag templat notif
diagnos investig inspect>debug inspect diagnost trace
watch observ monitor keep+eye>monitor metric watch observ
graph chart plot statist figur number>metric dashboard chart statist
count mani amount>count metric total limit
print>log consol output stdout print
access+log>logger log middlewar
slow slowli sluggish hang stuck lag>perform timeout latenc profil
fast fastest quick quicker faster speed>perform optim cach speed
heavi busi overload pressur>load scale limit perform backpressur
leak memori ram>memori heap leak profil
hotspot cpu bottleneck profil>profil perform
wait patienc long+time>timeout delay wait
often frequent rapid flood>rate limit throttl
quota throttl maximum>rate limit quota throttl
minut second hour interv>interv durat timeout period
night daili week hour regular period everi+day>schedul cron interv timer job
later afterward postpon defer delay>delay schedul queue background
simultan togeth parallel>concurr parallel
background meanwhil asynchron>background async worker queue job
stop abort cancel end quit interrupt>stop cancel abort shutdown signal
grace clean tidi cleanup>grace shutdown cleanup
start begin launch boot>start startup launch
reload refresh live+updat>reload refresh watch
again repeat retri tri+again>retri repeat backoff
surviv outag unavail down goe+down>avail failov redund recoveri replica
machin comput box node>server host node instanc
copi clone>copi clone replica duplic
twice duplic thrice>duplic dedup uniqu
spread distribut balanc divid>distribut balanc shard load
grow bigger larger enlarg>scale resiz
small smaller shrink squeez reduc compact>compress minifi reduc size
size big huge larg biggest>size limit maximum
save keep kept store preserv>store persist save storag
rememb>cach session store persist cooki memori
restor undo revert>restor rollback revert undo backup
lose lost>backup persist recoveri
eras remov delet drop clear wipe rid unwant>delet remov prune purg clear uninstal
old older outdat stale expir obsolet>expir outdat deprec retent
new newest newer latest>version upgrad updat releas latest
move>migrat upgrad
chang modifi edit updat alter adjust>updat modifi edit patch set
set choos pick select>set option configur select
set option prefer configur adjust>configur option set paramet
custom person adapt>custom extend plugin
extend addon addit extra>extens plugin hook middlewar
show list display view see visibl>show view display list
look find search discov>search find queri discoveri
read open>read load
send push give deliv post>send push publish request
publish releas share public>publish releas deploy
tell inform notifi ping alert remind>notif alert notifi webhook
mail chat>notif email slack webhook
happen occur event>event hook webhook listen trigger
react respond handl>handler event listen hook
around>hook lifecycl middlewar
order first sequenc>order prioriti sequenc
condit depend>condit filter rule
rule>rule polici
match pattern wildcard>pattern match glob regex
check verifi valid correct>valid verifi check
malform invalid bad+input>valid invalid error schema
shape form structur>schema format structur type
type type+safe>type typescript schema
convert turn transform translat>convert transform pars encod
interpret understand>pars parser
split cut piec part>split chunk partit
sort arrang>sort order
mani+result long+list>pagin page cursor
row column spreadsheet>tabl column queri csv
sql record relat>databas sql queri
folder directori>directori folder path
place locat>path locat directori
call renam name>name alia renam
address link>url address link rout endpoint
address path>rout url
site hostnam domain>domain host hostnam
door listen>port listen
internet outsid onlin reachabl expos>expos public ingress proxi
compani corpor intern privat intranet>privat intern registri
anoth+site anoth+domain cross>cor origin
forward pass redirect relay>proxi forward redirect
front behind>proxi gateway
connect talk communic>connect socket client
direct realtim live instant constant>websocket realtim stream
gradual>stream chunk
browser tab webpag>browser web page client
visitor custom person peopl someon>user client
upload photo pictur attach>upload file imag
pictur photo logo imag>imag icon
colour color look appear design pretti>theme style css
languag countri translat>local i18n languag
phone mobil tablet app>mobil io android nativ
button click press>button event click action
screen termin window>termin screen consol
playground experi>playground demo exampl
beginn learn begin introduct newcom>tutori guid introduct quickstart
exampl sampl>exampl templat
pretend fake dummi imit simul>mock test fake stub
test>test
compar differ>diff compar comparison
measur benchmark>benchmark perform metric
cover untest>coverag
build compil make produc>build compil generat bundl
instal setup>instal setup
uninstal>remov uninstal
lock exact frozen fix reproduc>lock lockfil pin version
monorepo>workspac monorepo
project repositori repo>repositori project workspac
team depart organ>team organ project namespac tenant
isol separ apart>isol namespac tenant sandbox
restrict>restrict limit allowlist
contain docker>contain docker imag
cloud host provid>deploy host cloud
autom automat>autom script ci auto
pipelin build+server>ci pipelin integr
command flag argument switch>command flag argument option cli
environ variabl>environ variabl env
share+valu everywher global anywher>context global state share
reus>reus cach
store+answer cach>cach
uniqu identifi number id>id identifi uuid
random>random uuid
follow track trace>trace track correl
date timezon calendar clock>time date timestamp timezon
money cost price pay bill expens cheap charg>bill cost usag price
usag consumpt consum spent>usag metric
aliv healthi fine ok well>health live readi check status
program applic tool>applic program command
function callback>function callback handler
thread>worker thread process
nativ>nativ ffi addon
command+line shell>shell cli termin command
singl+file standalon>execut binari standalon
question ask>queri question prompt
answer repli>respons answer
bodi content>bodi content payload
header>header metadata
convers chat dialogu talk>chat messag convers
robot bot crawler googl>robot sitemap seo crawler
search+engin>seo metadata sitemap
menu sidebar>navig menu
blind disabl+peopl reader>access
combin pair>matrix combin
ignor skip exclud omit>ignor exclud skip filter
miss absent>miss found error
empti noth>empti null
requir mandatori must>requir valid
temporari temporarili>temporari temp
perman forev>persist
local offlin laptop>local offlin develop
product real>product deploy
debugg breakpoint>debugg inspect
document describ descript>descript document openapi
intern work>architectur concept overview lifecycl
explain reason>explain troubleshoot
compat support>compat support
contribut particip>contribut develop
paus suspend hold>paus suspend skip
schedul calendar window>schedul window cron
nest insid within>nest group
prefix>prefix namespac
default+valu fallback>default fallback
traffic request>traffic request rout
rout>rout router
gateway>gateway proxi
balanc>load balanc
sticki>sticki session affin
canari gradual percent>canari weight progress rollout
deploy rollout>deploy rollout
hash fingerprint checksum>hash checksum digest
unchang modifi>etag cach condit
binari byte raw>binari buffer
json xml yaml>json format pars
escap special+charact>escap encod
placehold variabl+part>paramet templat variabl
plug plugin>plugin extens
sound voic speak speech spoken record>audio speech transcript
mean similar>embed semant similar
model ai llm>model llm provid
creativ temperatur>temperatur set
token length>token usag limit`,elides:!1},K=(()=>{const i=[["arsen",-1,-1],["commun",-1,-1],["gener",-1,-1]],n=[["'",-1,1],["'s'",0,1],["'s",-1,1]],a=[["ied",-1,2],["s",-1,3],["ies",1,2],["sses",1,1],["ss",1,-1],["us",1,-1]],o=[["",-1,3],["bb",0,2],["dd",0,2],["ff",0,2],["gg",0,2],["bl",0,1],["mm",0,2],["nn",0,2],["pp",0,2],["rr",0,2],["at",0,1],["tt",0,2],["iz",0,1]],d=[["ed",-1,2],["eed",0,1],["ing",-1,2],["edly",-1,2],["eedly",3,1],["ingly",-1,2]],G=[["anci",-1,3],["enci",-1,2],["ogi",-1,13],["li",-1,16],["bli",3,12],["abli",4,4],["alli",3,8],["fulli",3,14],["lessli",3,15],["ousli",3,10],["entli",3,5],["aliti",-1,8],["biliti",-1,12],["iviti",-1,11],["tional",-1,1],["ational",14,7],["alism",-1,8],["ation",-1,7],["ization",17,6],["izer",-1,6],["ator",-1,7],["iveness",-1,11],["fulness",-1,9],["ousness",-1,10]],q=[["icate",-1,4],["ative",-1,6],["alize",-1,3],["iciti",-1,4],["ical",-1,4],["tional",-1,1],["ational",5,2],["ful",-1,5],["ness",-1,5]],u=[["ic",-1,1],["ance",-1,1],["ence",-1,1],["able",-1,1],["ible",-1,1],["ate",-1,1],["ive",-1,1],["ize",-1,1],["iti",-1,1],["al",-1,1],["ism",-1,1],["ion",-1,2],["er",-1,1],["ous",-1,1],["ant",-1,1],["ent",-1,1],["ment",15,1],["ement",16,1]],w=[["e",-1,1],["l",-1,2]],y=[["succeed",-1,-1],["proceed",-1,-1],["exceed",-1,-1],["canning",-1,-1],["inning",-1,-1],["earring",-1,-1],["herring",-1,-1],["outing",-1,-1]],F=[["andes",-1,-1],["atlas",-1,-1],["bias",-1,-1],["cosmos",-1,-1],["dying",-1,3],["early",-1,9],["gently",-1,7],["howe",-1,-1],["idly",-1,6],["lying",-1,4],["news",-1,-1],["only",-1,10],["singly",-1,11],["skies",-1,2],["skis",-1,1],["sky",-1,-1],["tying",-1,5],["ugly",-1,8]],l=[17,65,16,1],m=[1,17,65,208,1],b=[55,141,2];function c(e,t){t.b_Y_found=!1;let r=e.c;e:for(;;){if(e.bra=e.c,!e.eq("'"))break e;if(e.ket=e.c,!e.sliceDel())return!1;break e}e.c=r;let s=e.c;e:for(;;){if(e.bra=e.c,!e.eq("y"))break e;if(e.ket=e.c,!e.sliceFrom("Y"))return!1;t.b_Y_found=!0;break e}e.c=s;let f=e.c;e:for(;;){r:for(;;){let p=e.c;t:for(let g=0;g<2;g++){i:for(;;){let h=e.c;n:for(;;){if(!e.inGrouping(l,97,121)||(e.bra=e.c,!e.eq("y")))break n;e.ket=e.c,e.c=h;break i}if(e.c=h,e.c>=e.l)break t;e.next()}if(!e.sliceFrom("Y"))return!1;t.b_Y_found=!0;continue r}e.c=p;break r}break e}return e.c=f,!0}function _(e,t){t.i_p1=e.l,t.i_p2=e.l;let r=e.c;e:for(;;){r:for(;;){let s=e.c;t:for(;;){if(e.among(i,t)===0)break t;break r}e.c=s;t:for(;;){i:for(;;){if(!e.inGrouping(l,97,121))break i;break t}if(e.c>=e.l)break e;e.next()}t:for(;;){i:for(;;){if(!e.outGrouping(l,97,121))break i;break t}if(e.c>=e.l)break e;e.next()}break r}t.i_p1=e.c;r:for(;;){t:for(;;){if(!e.inGrouping(l,97,121))break t;break r}if(e.c>=e.l)break e;e.next()}r:for(;;){t:for(;;){if(!e.outGrouping(l,97,121))break t;break r}if(e.c>=e.l)break e;e.next()}t.i_p2=e.c;break e}return e.c=r,!0}function x(e,t){e:for(;;){let r=e.l-e.c;r:for(;;){if(!e.outGroupingB(m,89,121)||!e.inGroupingB(l,97,121)||!e.outGroupingB(l,97,121))break r;break e}if(e.c=e.l-r,!e.outGroupingB(l,97,121)||!e.inGroupingB(l,97,121)||e.c>e.lb)return!1;break e}return!0}function v(e,t){return t.i_p1<=e.c}function B(e,t){return t.i_p2<=e.c}function z(e,t){let r=0,s=e.l-e.c;e:for(;;){if(e.ket=e.c,r=e.amongB(n,t),r===0){e.c=e.l-s;break e}if(e.bra=e.c,r===0){e.c=e.l-s;break e}else if(r===1&&!e.sliceDel())return!1;break e}if(e.ket=e.c,r=e.amongB(a,t),r===0||(e.bra=e.c,r===0))return!1;if(r===1){if(!e.sliceFrom("ss"))return!1}else if(r===2)e:for(;;){let f=e.l-e.c;r:for(;;){{let p=e.hop(-2);if(e.lb>p||p>e.l)break r;e.c=p}if(!e.sliceFrom("i"))return!1;break e}if(e.c=e.l-f,!e.sliceFrom("ie"))return!1;break e}else if(r===3){if(e.c<=e.lb)return!1;e.prev();e:for(;;){r:for(;;){if(!e.inGroupingB(l,97,121))break r;break e}if(e.c<=e.lb)return!1;e.prev()}if(!e.sliceDel())return!1}return!0}function j(e,t){let r=0;if(e.ket=e.c,r=e.amongB(d,t),r===0||(e.bra=e.c,r===0))return!1;if(r===1){if(!v(e,t)||!e.sliceFrom("ee"))return!1}else if(r===2){let s=e.l-e.c;e:for(;;){r:for(;;){if(!e.inGroupingB(l,97,121))break r;break e}if(e.c<=e.lb)return!1;e.prev()}if(e.c=e.l-s,!e.sliceDel())return!1;let f=e.l-e.c;if(r=e.amongB(o,t),r===0||(e.c=e.l-f,r===0))return!1;if(r===1){let p=e.c,g=e.c,h=e.c;e.insert(g,h,"e"),e.c=p}else if(r===2){if(e.ket=e.c,e.c<=e.lb||(e.prev(),e.bra=e.c,!e.sliceDel()))return!1}else if(r===3){if(e.c!==t.i_p1)return!1;let p=e.l-e.c;if(!x(e,t))return!1;e.c=e.l-p;{let g=e.c,h=e.c,k=e.c;e.insert(h,k,"e"),e.c=g}}}return!0}function D(e,t){e.ket=e.c;e:for(;;){let s=e.l-e.c;r:for(;;){if(!e.eqB("y"))break r;break e}if(e.c=e.l-s,!e.eqB("Y"))return!1;break e}if(e.bra=e.c,!e.outGroupingB(l,97,121))return!1;let r=e.l-e.c;e:for(;;){if(e.c>e.lb)break e;return!1}return e.c=e.l-r,!!e.sliceFrom("i")}function Y(e,t){let r=0;if(e.ket=e.c,r=e.amongB(G,t),r===0||(e.bra=e.c,!v(e,t))||r===0)return!1;if(r===1){if(!e.sliceFrom("tion"))return!1}else if(r===2){if(!e.sliceFrom("ence"))return!1}else if(r===3){if(!e.sliceFrom("ance"))return!1}else if(r===4){if(!e.sliceFrom("able"))return!1}else if(r===5){if(!e.sliceFrom("ent"))return!1}else if(r===6){if(!e.sliceFrom("ize"))return!1}else if(r===7){if(!e.sliceFrom("ate"))return!1}else if(r===8){if(!e.sliceFrom("al"))return!1}else if(r===9){if(!e.sliceFrom("ful"))return!1}else if(r===10){if(!e.sliceFrom("ous"))return!1}else if(r===11){if(!e.sliceFrom("ive"))return!1}else if(r===12){if(!e.sliceFrom("ble"))return!1}else if(r===13){if(!e.eqB("l")||!e.sliceFrom("og"))return!1}else if(r===14){if(!e.sliceFrom("ful"))return!1}else if(r===15){if(!e.sliceFrom("less"))return!1}else if(r===16&&(!e.inGroupingB(b,99,116)||!e.sliceDel()))return!1;return!0}function C(e,t){let r=0;if(e.ket=e.c,r=e.amongB(q,t),r===0||(e.bra=e.c,!v(e,t))||r===0)return!1;if(r===1){if(!e.sliceFrom("tion"))return!1}else if(r===2){if(!e.sliceFrom("ate"))return!1}else if(r===3){if(!e.sliceFrom("al"))return!1}else if(r===4){if(!e.sliceFrom("ic"))return!1}else if(r===5){if(!e.sliceDel())return!1}else if(r===6&&(!B(e,t)||!e.sliceDel()))return!1;return!0}function W(e,t){let r=0;if(e.ket=e.c,r=e.amongB(u,t),r===0||(e.bra=e.c,!B(e,t))||r===0)return!1;if(r===1){if(!e.sliceDel())return!1}else if(r===2){e:for(;;){let s=e.l-e.c;r:for(;;){if(!e.eqB("s"))break r;break e}if(e.c=e.l-s,!e.eqB("t"))return!1;break e}if(!e.sliceDel())return!1}return!0}function I(e,t){let r=0;if(e.ket=e.c,r=e.amongB(w,t),r===0||(e.bra=e.c,r===0))return!1;if(r===1){e:for(;;){let s=e.l-e.c;r:for(;;){if(!B(e,t))break r;break e}if(e.c=e.l-s,!v(e,t))return!1;let f=e.l-e.c;r:for(;;){if(!x(e,t))break r;return!1}e.c=e.l-f;break e}if(!e.sliceDel())return!1}else if(r===2&&(!B(e,t)||!e.eqB("l")||!e.sliceDel()))return!1;return!0}function L(e,t){return e.ket=e.c,!(e.amongB(y,t)===0||(e.bra=e.c,e.c>e.lb))}function M(e,t){let r=0;if(e.bra=e.c,r=e.among(F,t),r===0||(e.ket=e.c,e.c<e.l)||r===0)return!1;if(r===1){if(!e.sliceFrom("ski"))return!1}else if(r===2){if(!e.sliceFrom("sky"))return!1}else if(r===3){if(!e.sliceFrom("die"))return!1}else if(r===4){if(!e.sliceFrom("lie"))return!1}else if(r===5){if(!e.sliceFrom("tie"))return!1}else if(r===6){if(!e.sliceFrom("idl"))return!1}else if(r===7){if(!e.sliceFrom("gentl"))return!1}else if(r===8){if(!e.sliceFrom("ugli"))return!1}else if(r===9){if(!e.sliceFrom("earli"))return!1}else if(r===10){if(!e.sliceFrom("onli"))return!1}else if(r===11&&!e.sliceFrom("singl"))return!1;return!0}function R(e,t){if(!t.b_Y_found)return!1;e:for(;;){let r=e.c;r:for(let s=0;s<2;s++){t:for(;;){let f=e.c;i:for(;;){if(e.bra=e.c,!e.eq("Y"))break i;e.ket=e.c,e.c=f;break t}if(e.c=f,e.c>=e.l)break r;e.next()}if(!e.sliceFrom("y"))return!1;continue e}e.c=r;break e}return!0}function E(e){let t={b_Y_found:!1,i_p2:0,i_p1:0};e:for(;;){let r=e.c;r:for(;;){if(!M(e,t))break r;break e}e.c=r;r:for(;;){let h=e.c;t:for(;;){{let k=e.hop(3);if(0>k||k>e.l)break t;e.c=k}break r}e.c=h;break e}e.c=r;let s=e.c;r:for(;;){if(!c(e,t))break r;break r}e.c=s;let f=e.c;r:for(;;){if(!_(e,t))break r;break r}e.c=f,e.lb=e.c,e.c=e.l;let p=e.l-e.c;r:for(;;){if(!z(e,t))break r;break r}e.c=e.l-p;r:for(;;){let h=e.l-e.c;t:for(;;){if(!L(e,t))break t;break r}e.c=e.l-h;let k=e.l-e.c;t:for(;;){if(!j(e,t))break t;break t}e.c=e.l-k;let J=e.l-e.c;t:for(;;){if(!D(e,t))break t;break t}e.c=e.l-J;let N=e.l-e.c;t:for(;;){if(!Y(e,t))break t;break t}e.c=e.l-N;let O=e.l-e.c;t:for(;;){if(!C(e,t))break t;break t}e.c=e.l-O;let T=e.l-e.c;t:for(;;){if(!W(e,t))break t;break t}e.c=e.l-T;let U=e.l-e.c;t:for(;;){if(!I(e,t))break t;break t}e.c=e.l-U;break r}e.c=e.lb;let g=e.c;r:for(;;){if(!R(e,t))break r;break r}e.c=g;break e}return!0}return e=>(A.set(e),E(A),A.s)})();S={stem:K,LANGUAGE:H};})();
