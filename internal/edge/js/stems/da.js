// The stemmer is generated from github.com/blevesearch/snowballstem/danish. Do not edit.

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

const LANGUAGE = { code: "da", stops: "ad af alle alt anden at blev bliver da de dem den denne der deres det dette dig din disse dog du efter eller en end er et for fra ham han hans har havde hende her hos hun hvad hvem hvis hvor hvordan hvorfor i ikke ind jeg jo kan man mange med meget men mig min mod mon ned noget nogle nu når og også om op os over på selv sig sin skal skulle som sådan til ud under var vi vil ville være", weak: "", related: "", elides: false };

const stem = (() => {
const A_0 = [["hed",-1,1],["ethed",0,1],["ered",-1,1],["e",-1,1],["erede",3,1],["ende",3,1],["erende",5,1],["ene",3,1],["erne",3,1],["ere",3,1],["en",-1,1],["heden",10,1],["eren",10,1],["er",-1,1],["heder",13,1],["erer",13,1],["s",-1,2],["heds",16,1],["es",16,1],["endes",18,1],["erendes",19,1],["enes",18,1],["ernes",18,1],["eres",18,1],["ens",16,1],["hedens",24,1],["erens",24,1],["ers",16,1],["ets",16,1],["erets",28,1],["et",-1,1],["eret",30,1]];
const A_1 = [["gd",-1,-1],["dt",-1,-1],["gt",-1,-1],["kt",-1,-1]];
const A_2 = [["ig",-1,1],["lig",0,1],["elig",1,1],["els",-1,1],["l\u00F8st",-1,2]];
const G_v = [17,65,16,1,0,0,0,0,0,0,0,0,0,0,0,0,48,0,128];
const G_s_ending = [239,254,42,3,0,0,0,0,0,0,0,0,0,0,0,0,16];
function r_mark_regions(e, context) {
context.i_p1 = e.l;
let v_1 = e.c;
{
let c = e.hop((3));
if (0 > c || c > e.l) {
return false;
}
e.c = c;
}
context.i_x = e.c;
e.c = v_1;
golab0: while (true) {
let v_2 = e.c;
lab1: while (true) {
if (!e.inGrouping(G_v, 97, 248)) {
break lab1;
}
e.c = v_2;
break golab0;
}
e.c = v_2;
if (e.c >= e.l) {
return false;
}
e.next();
}
golab2: while (true) {
lab3: while (true) {
if (!e.outGrouping(G_v, 97, 248)) {
break lab3;
}
break golab2;
}
if (e.c >= e.l) {
return false;
}
e.next();
}
context.i_p1 = e.c;
lab4: while (true) {
if (!(context.i_p1 < context.i_x)) {
break lab4;
}
context.i_p1 = context.i_x;
break lab4;
}
return true;
}
function r_main_suffix(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
if (e.c < context.i_p1) {
return false;
}
e.c = context.i_p1;
let v_2 = e.lb;
e.lb = e.c;
e.c = e.l - v_1;
e.ket = e.c;
among_var = e.amongB(A_0, context);
if (among_var === 0) {
e.lb = v_2;
return false;
}
e.bra = e.c;
e.lb = v_2;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.inGroupingB(G_s_ending, 97, 229)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
}
return true;
}
function r_consonant_pair(e, context) {
let v_1 = e.l - e.c;
let v_2 = e.l - e.c;
if (e.c < context.i_p1) {
return false;
}
e.c = context.i_p1;
let v_3 = e.lb;
e.lb = e.c;
e.c = e.l - v_2;
e.ket = e.c;
if (e.amongB(A_1, context) === 0) {
e.lb = v_3;
return false;
}
e.bra = e.c;
e.lb = v_3;
e.c = e.l - v_1;
if (e.c <= e.lb) {
return false;
}
e.prev();
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
return true;
}
function r_other_suffix(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
lab0: while (true) {
e.ket = e.c;
if (!e.eqB("st")) {
break lab0;
}
e.bra = e.c;
if (!e.eqB("ig")) {
break lab0;
}
if (!e.sliceDel()) {
return false;
}
break lab0;
}
e.c = e.l - v_1;
let v_2 = e.l - e.c;
if (e.c < context.i_p1) {
return false;
}
e.c = context.i_p1;
let v_3 = e.lb;
e.lb = e.c;
e.c = e.l - v_2;
e.ket = e.c;
among_var = e.amongB(A_2, context);
if (among_var === 0) {
e.lb = v_3;
return false;
}
e.bra = e.c;
e.lb = v_3;
if (among_var === 0) {
return false;
} else if (among_var === 1) {
if (!e.sliceDel()) {
return false;
}
let v_4 = e.l - e.c;
lab1: while (true) {
if (!r_consonant_pair(e, context)) {
break lab1;
}
break lab1;
}
e.c = e.l - v_4;
} else if (among_var === 2) {
if (!e.sliceFrom("l\u00F8s")) {
return false;
}
}
return true;
}
function r_undouble(e, context) {
let v_1 = e.l - e.c;
if (e.c < context.i_p1) {
return false;
}
e.c = context.i_p1;
let v_2 = e.lb;
e.lb = e.c;
e.c = e.l - v_1;
e.ket = e.c;
if (!e.outGroupingB(G_v, 97, 248)) {
e.lb = v_2;
return false;
}
e.bra = e.c;
context.S_ch = e.sliceTo();
if (context.S_ch === "") {
return false;
}
e.lb = v_2;
if (!e.eqB(context.S_ch)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
return true;
}
function Stem(e) {
let context = { i_x: 0, i_p1: 0, S_ch: "" };
let v_1 = e.c;
lab0: while (true) {
if (!r_mark_regions(e, context)) {
break lab0;
}
break lab0;
}
e.c = v_1;
e.lb = e.c;
e.c = e.l;
let v_2 = e.l - e.c;
lab1: while (true) {
if (!r_main_suffix(e, context)) {
break lab1;
}
break lab1;
}
e.c = e.l - v_2;
let v_3 = e.l - e.c;
lab2: while (true) {
if (!r_consonant_pair(e, context)) {
break lab2;
}
break lab2;
}
e.c = e.l - v_3;
let v_4 = e.l - e.c;
lab3: while (true) {
if (!r_other_suffix(e, context)) {
break lab3;
}
break lab3;
}
e.c = e.l - v_4;
let v_5 = e.l - e.c;
lab4: while (true) {
if (!r_undouble(e, context)) {
break lab4;
}
break lab4;
}
e.c = e.l - v_5;
e.c = e.lb;
return true;
}
return (word) => {
  machine.set(word);
  Stem(machine);
  return machine.s;
};
})();
