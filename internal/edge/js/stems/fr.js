// The stemmer is generated from github.com/blevesearch/snowballstem/french. Do not edit.

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

const LANGUAGE = { code: "fr", stops: "à au aux avec ce ces cet cette comme comment dans de des donc du elle elles en est et être eux faire il ils je la le les leur leurs lui ma mais me même mes moi mon ne nos notre nous on ou où par pas pour pourquoi quand que quel quelle quelles quels qui quoi sa sans se ses si son sont sur ta te tes toi ton tu un une vos votre vous y a ont peut c d j l m n s t qu", weak: "", related: "", elides: true };

const stem = (() => {
const A_0 = [["col",-1,-1],["par",-1,-1],["tap",-1,-1]];
const A_1 = [["",-1,4],["I",0,1],["U",0,2],["Y",0,3]];
const A_2 = [["iqU",-1,3],["abl",-1,3],["I\u00E8r",-1,4],["i\u00E8r",-1,4],["eus",-1,2],["iv",-1,1]];
const A_3 = [["ic",-1,2],["abil",-1,1],["iv",-1,3]];
const A_4 = [["iqUe",-1,1],["atrice",-1,2],["ance",-1,1],["ence",-1,5],["logie",-1,3],["able",-1,1],["isme",-1,1],["euse",-1,11],["iste",-1,1],["ive",-1,8],["if",-1,8],["usion",-1,4],["ation",-1,2],["ution",-1,4],["ateur",-1,2],["iqUes",-1,1],["atrices",-1,2],["ances",-1,1],["ences",-1,5],["logies",-1,3],["ables",-1,1],["ismes",-1,1],["euses",-1,11],["istes",-1,1],["ives",-1,8],["ifs",-1,8],["usions",-1,4],["ations",-1,2],["utions",-1,4],["ateurs",-1,2],["ments",-1,15],["ements",30,6],["issements",31,12],["it\u00E9s",-1,7],["ment",-1,15],["ement",34,6],["issement",35,12],["amment",34,13],["emment",34,14],["aux",-1,10],["eaux",39,9],["eux",-1,1],["it\u00E9",-1,7]];
const A_5 = [["ira",-1,1],["ie",-1,1],["isse",-1,1],["issante",-1,1],["i",-1,1],["irai",4,1],["ir",-1,1],["iras",-1,1],["ies",-1,1],["\u00EEmes",-1,1],["isses",-1,1],["issantes",-1,1],["\u00EEtes",-1,1],["is",-1,1],["irais",13,1],["issais",13,1],["irions",-1,1],["issions",-1,1],["irons",-1,1],["issons",-1,1],["issants",-1,1],["it",-1,1],["irait",21,1],["issait",21,1],["issant",-1,1],["iraIent",-1,1],["issaIent",-1,1],["irent",-1,1],["issent",-1,1],["iront",-1,1],["\u00EEt",-1,1],["iriez",-1,1],["issiez",-1,1],["irez",-1,1],["issez",-1,1]];
const A_6 = [["a",-1,3],["era",0,2],["asse",-1,3],["ante",-1,3],["\u00E9e",-1,2],["ai",-1,3],["erai",5,2],["er",-1,2],["as",-1,3],["eras",8,2],["\u00E2mes",-1,3],["asses",-1,3],["antes",-1,3],["\u00E2tes",-1,3],["\u00E9es",-1,2],["ais",-1,3],["erais",15,2],["ions",-1,1],["erions",17,2],["assions",17,3],["erons",-1,2],["ants",-1,3],["\u00E9s",-1,2],["ait",-1,3],["erait",23,2],["ant",-1,3],["aIent",-1,3],["eraIent",26,2],["\u00E8rent",-1,2],["assent",-1,3],["eront",-1,2],["\u00E2t",-1,3],["ez",-1,2],["iez",32,2],["eriez",33,2],["assiez",33,3],["erez",32,2],["\u00E9",-1,2]];
const A_7 = [["e",-1,3],["I\u00E8re",0,2],["i\u00E8re",0,2],["ion",-1,1],["Ier",-1,2],["ier",-1,2],["\u00EB",-1,4]];
const A_8 = [["ell",-1,-1],["eill",-1,-1],["enn",-1,-1],["onn",-1,-1],["ett",-1,-1]];
const G_v = [17,65,16,1,0,0,0,0,0,0,0,0,0,0,0,128,130,103,8,5];
const G_keep_with_s = [1,65,20,0,0,0,0,0,0,0,0,0,0,0,0,0,128];
function r_prelude(e, context) {
replab0: while (true) {
let v_1 = e.c;
lab1: for (let round = 0; round < 2; round++) {
golab2: while (true) {
let v_2 = e.c;
lab3: while (true) {
lab4: while (true) {
let v_3 = e.c;
lab5: while (true) {
if (!e.inGrouping(G_v, 97, 251)) {
break lab5;
}
e.bra = e.c;
lab6: while (true) {
let v_4 = e.c;
lab7: while (true) {
if (!e.eq("u")) {
break lab7;
}
e.ket = e.c;
if (!e.inGrouping(G_v, 97, 251)) {
break lab7;
}
if (!e.sliceFrom("U")) {
return false;
}
break lab6;
}
e.c = v_4;
lab8: while (true) {
if (!e.eq("i")) {
break lab8;
}
e.ket = e.c;
if (!e.inGrouping(G_v, 97, 251)) {
break lab8;
}
if (!e.sliceFrom("I")) {
return false;
}
break lab6;
}
e.c = v_4;
if (!e.eq("y")) {
break lab5;
}
e.ket = e.c;
if (!e.sliceFrom("Y")) {
return false;
}
break lab6;
}
break lab4;
}
e.c = v_3;
lab9: while (true) {
e.bra = e.c;
if (!e.eq("y")) {
break lab9;
}
e.ket = e.c;
if (!e.inGrouping(G_v, 97, 251)) {
break lab9;
}
if (!e.sliceFrom("Y")) {
return false;
}
break lab4;
}
e.c = v_3;
if (!e.eq("q")) {
break lab3;
}
e.bra = e.c;
if (!e.eq("u")) {
break lab3;
}
e.ket = e.c;
if (!e.sliceFrom("U")) {
return false;
}
break lab4;
}
e.c = v_2;
break golab2;
}
e.c = v_2;
if (e.c >= e.l) {
break lab1;
}
e.next();
}
continue replab0;
}
e.c = v_1;
break replab0;
}
return true;
}
function r_mark_regions(e, context) {
context.i_pV = e.l;
context.i_p1 = e.l;
context.i_p2 = e.l;
let v_1 = e.c;
lab0: while (true) {
lab1: while (true) {
let v_2 = e.c;
lab2: while (true) {
if (!e.inGrouping(G_v, 97, 251)) {
break lab2;
}
if (!e.inGrouping(G_v, 97, 251)) {
break lab2;
}
if (e.c >= e.l) {
break lab2;
}
e.next();
break lab1;
}
e.c = v_2;
lab3: while (true) {
if (e.among(A_0, context) === 0) {
break lab3;
}
break lab1;
}
e.c = v_2;
if (e.c >= e.l) {
break lab0;
}
e.next();
golab4: while (true) {
lab5: while (true) {
if (!e.inGrouping(G_v, 97, 251)) {
break lab5;
}
break golab4;
}
if (e.c >= e.l) {
break lab0;
}
e.next();
}
break lab1;
}
context.i_pV = e.c;
break lab0;
}
e.c = v_1;
let v_4 = e.c;
lab6: while (true) {
golab7: while (true) {
lab8: while (true) {
if (!e.inGrouping(G_v, 97, 251)) {
break lab8;
}
break golab7;
}
if (e.c >= e.l) {
break lab6;
}
e.next();
}
golab9: while (true) {
lab10: while (true) {
if (!e.outGrouping(G_v, 97, 251)) {
break lab10;
}
break golab9;
}
if (e.c >= e.l) {
break lab6;
}
e.next();
}
context.i_p1 = e.c;
golab11: while (true) {
lab12: while (true) {
if (!e.inGrouping(G_v, 97, 251)) {
break lab12;
}
break golab11;
}
if (e.c >= e.l) {
break lab6;
}
e.next();
}
golab13: while (true) {
lab14: while (true) {
if (!e.outGrouping(G_v, 97, 251)) {
break lab14;
}
break golab13;
}
if (e.c >= e.l) {
break lab6;
}
e.next();
}
context.i_p2 = e.c;
break lab6;
}
e.c = v_4;
return true;
}
function r_postlude(e, context) {
let among_var = 0;
replab0: while (true) {
let v_1 = e.c;
lab1: for (let round = 0; round < 2; round++) {
e.bra = e.c;
among_var = e.among(A_1, context);
if (among_var === 0) {
break lab1;
}
e.ket = e.c;
if (among_var === 0) {
break lab1;
} else if (among_var === 1) {
if (!e.sliceFrom("i")) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("u")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceFrom("y")) {
return false;
}
} else if (among_var === 4) {
if (e.c >= e.l) {
break lab1;
}
e.next();
}
continue replab0;
}
e.c = v_1;
break replab0;
}
return true;
}
function r_RV(e, context) {
if (!(context.i_pV <= e.c)) {
return false;
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
function r_standard_suffix(e, context) {
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
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
let v_1 = e.l - e.c;
lab0: while (true) {
e.ket = e.c;
if (!e.eqB("ic")) {
e.c = e.l - v_1;
break lab0;
}
e.bra = e.c;
lab1: while (true) {
let v_2 = e.l - e.c;
lab2: while (true) {
if (!r_R2(e, context)) {
break lab2;
}
if (!e.sliceDel()) {
return false;
}
break lab1;
}
e.c = e.l - v_2;
if (!e.sliceFrom("iqU")) {
return false;
}
break lab1;
}
break lab0;
}
} else if (among_var === 3) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceFrom("log")) {
return false;
}
} else if (among_var === 4) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceFrom("u")) {
return false;
}
} else if (among_var === 5) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceFrom("ent")) {
return false;
}
} else if (among_var === 6) {
if (!r_RV(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
let v_3 = e.l - e.c;
lab3: while (true) {
e.ket = e.c;
among_var = e.amongB(A_2, context);
if (among_var === 0) {
e.c = e.l - v_3;
break lab3;
}
e.bra = e.c;
if (among_var === 0) {
e.c = e.l - v_3;
break lab3;
} else if (among_var === 1) {
if (!r_R2(e, context)) {
e.c = e.l - v_3;
break lab3;
}
if (!e.sliceDel()) {
return false;
}
e.ket = e.c;
if (!e.eqB("at")) {
e.c = e.l - v_3;
break lab3;
}
e.bra = e.c;
if (!r_R2(e, context)) {
e.c = e.l - v_3;
break lab3;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
lab4: while (true) {
let v_4 = e.l - e.c;
lab5: while (true) {
if (!r_R2(e, context)) {
break lab5;
}
if (!e.sliceDel()) {
return false;
}
break lab4;
}
e.c = e.l - v_4;
if (!r_R1(e, context)) {
e.c = e.l - v_3;
break lab3;
}
if (!e.sliceFrom("eux")) {
return false;
}
break lab4;
}
} else if (among_var === 3) {
if (!r_R2(e, context)) {
e.c = e.l - v_3;
break lab3;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 4) {
if (!r_RV(e, context)) {
e.c = e.l - v_3;
break lab3;
}
if (!e.sliceFrom("i")) {
return false;
}
}
break lab3;
}
} else if (among_var === 7) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
let v_5 = e.l - e.c;
lab6: while (true) {
e.ket = e.c;
among_var = e.amongB(A_3, context);
if (among_var === 0) {
e.c = e.l - v_5;
break lab6;
}
e.bra = e.c;
if (among_var === 0) {
e.c = e.l - v_5;
break lab6;
} else if (among_var === 1) {
lab7: while (true) {
let v_6 = e.l - e.c;
lab8: while (true) {
if (!r_R2(e, context)) {
break lab8;
}
if (!e.sliceDel()) {
return false;
}
break lab7;
}
e.c = e.l - v_6;
if (!e.sliceFrom("abl")) {
return false;
}
break lab7;
}
} else if (among_var === 2) {
lab9: while (true) {
let v_7 = e.l - e.c;
lab10: while (true) {
if (!r_R2(e, context)) {
break lab10;
}
if (!e.sliceDel()) {
return false;
}
break lab9;
}
e.c = e.l - v_7;
if (!e.sliceFrom("iqU")) {
return false;
}
break lab9;
}
} else if (among_var === 3) {
if (!r_R2(e, context)) {
e.c = e.l - v_5;
break lab6;
}
if (!e.sliceDel()) {
return false;
}
}
break lab6;
}
} else if (among_var === 8) {
if (!r_R2(e, context)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
let v_8 = e.l - e.c;
lab11: while (true) {
e.ket = e.c;
if (!e.eqB("at")) {
e.c = e.l - v_8;
break lab11;
}
e.bra = e.c;
if (!r_R2(e, context)) {
e.c = e.l - v_8;
break lab11;
}
if (!e.sliceDel()) {
return false;
}
e.ket = e.c;
if (!e.eqB("ic")) {
e.c = e.l - v_8;
break lab11;
}
e.bra = e.c;
lab12: while (true) {
let v_9 = e.l - e.c;
lab13: while (true) {
if (!r_R2(e, context)) {
break lab13;
}
if (!e.sliceDel()) {
return false;
}
break lab12;
}
e.c = e.l - v_9;
if (!e.sliceFrom("iqU")) {
return false;
}
break lab12;
}
break lab11;
}
} else if (among_var === 9) {
if (!e.sliceFrom("eau")) {
return false;
}
} else if (among_var === 10) {
if (!r_R1(e, context)) {
return false;
}
if (!e.sliceFrom("al")) {
return false;
}
} else if (among_var === 11) {
lab14: while (true) {
let v_10 = e.l - e.c;
lab15: while (true) {
if (!r_R2(e, context)) {
break lab15;
}
if (!e.sliceDel()) {
return false;
}
break lab14;
}
e.c = e.l - v_10;
if (!r_R1(e, context)) {
return false;
}
if (!e.sliceFrom("eux")) {
return false;
}
break lab14;
}
} else if (among_var === 12) {
if (!r_R1(e, context)) {
return false;
}
if (!e.outGroupingB(G_v, 97, 251)) {
return false;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 13) {
if (!r_RV(e, context)) {
return false;
}
if (!e.sliceFrom("ant")) {
return false;
}
return false;
} else if (among_var === 14) {
if (!r_RV(e, context)) {
return false;
}
if (!e.sliceFrom("ent")) {
return false;
}
return false;
} else if (among_var === 15) {
let v_11 = e.l - e.c;
if (!e.inGroupingB(G_v, 97, 251)) {
return false;
}
if (!r_RV(e, context)) {
return false;
}
e.c = e.l - v_11;
if (!e.sliceDel()) {
return false;
}
return false;
}
return true;
}
function r_i_verb_suffix(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
if (e.c < context.i_pV) {
return false;
}
e.c = context.i_pV;
let v_2 = e.lb;
e.lb = e.c;
e.c = e.l - v_1;
e.ket = e.c;
among_var = e.amongB(A_5, context);
if (among_var === 0) {
e.lb = v_2;
return false;
}
e.bra = e.c;
if (among_var === 0) {
e.lb = v_2;
return false;
} else if (among_var === 1) {
if (!e.outGroupingB(G_v, 97, 251)) {
e.lb = v_2;
return false;
}
if (!e.sliceDel()) {
return false;
}
}
e.lb = v_2;
return true;
}
function r_verb_suffix(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
if (e.c < context.i_pV) {
return false;
}
e.c = context.i_pV;
let v_2 = e.lb;
e.lb = e.c;
e.c = e.l - v_1;
e.ket = e.c;
among_var = e.amongB(A_6, context);
if (among_var === 0) {
e.lb = v_2;
return false;
}
e.bra = e.c;
if (among_var === 0) {
e.lb = v_2;
return false;
} else if (among_var === 1) {
if (!r_R2(e, context)) {
e.lb = v_2;
return false;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceDel()) {
return false;
}
let v_3 = e.l - e.c;
lab0: while (true) {
e.ket = e.c;
if (!e.eqB("e")) {
e.c = e.l - v_3;
break lab0;
}
e.bra = e.c;
if (!e.sliceDel()) {
return false;
}
break lab0;
}
}
e.lb = v_2;
return true;
}
function r_residual_suffix(e, context) {
let among_var = 0;
let v_1 = e.l - e.c;
lab0: while (true) {
e.ket = e.c;
if (!e.eqB("s")) {
e.c = e.l - v_1;
break lab0;
}
e.bra = e.c;
let v_2 = e.l - e.c;
if (!e.outGroupingB(G_keep_with_s, 97, 232)) {
e.c = e.l - v_1;
break lab0;
}
e.c = e.l - v_2;
if (!e.sliceDel()) {
return false;
}
break lab0;
}
let v_3 = e.l - e.c;
if (e.c < context.i_pV) {
return false;
}
e.c = context.i_pV;
let v_4 = e.lb;
e.lb = e.c;
e.c = e.l - v_3;
e.ket = e.c;
among_var = e.amongB(A_7, context);
if (among_var === 0) {
e.lb = v_4;
return false;
}
e.bra = e.c;
if (among_var === 0) {
e.lb = v_4;
return false;
} else if (among_var === 1) {
if (!r_R2(e, context)) {
e.lb = v_4;
return false;
}
lab1: while (true) {
let v_5 = e.l - e.c;
lab2: while (true) {
if (!e.eqB("s")) {
break lab2;
}
break lab1;
}
e.c = e.l - v_5;
if (!e.eqB("t")) {
e.lb = v_4;
return false;
}
break lab1;
}
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 2) {
if (!e.sliceFrom("i")) {
return false;
}
} else if (among_var === 3) {
if (!e.sliceDel()) {
return false;
}
} else if (among_var === 4) {
if (!e.eqB("gu")) {
e.lb = v_4;
return false;
}
if (!e.sliceDel()) {
return false;
}
}
e.lb = v_4;
return true;
}
function r_un_double(e, context) {
let v_1 = e.l - e.c;
if (e.amongB(A_8, context) === 0) {
return false;
}
e.c = e.l - v_1;
e.ket = e.c;
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
function r_un_accent(e, context) {
let v_1 = 1;
replab0: while (true) {
lab1: for (let round = 0; round < 2; round++) {
if (!e.outGroupingB(G_v, 97, 251)) {
break lab1;
}
v_1--;
continue replab0;
}
break replab0;
}
if (v_1 > 0) {
return false;
}
e.ket = e.c;
lab2: while (true) {
let v_3 = e.l - e.c;
lab3: while (true) {
if (!e.eqB("\u00E9")) {
break lab3;
}
break lab2;
}
e.c = e.l - v_3;
if (!e.eqB("\u00E8")) {
return false;
}
break lab2;
}
e.bra = e.c;
if (!e.sliceFrom("e")) {
return false;
}
return true;
}
function Stem(e) {
let context = { i_p2: 0, i_p1: 0, i_pV: 0 };
let v_1 = e.c;
lab0: while (true) {
if (!r_prelude(e, context)) {
break lab0;
}
break lab0;
}
e.c = v_1;
let v_2 = e.c;
lab1: while (true) {
if (!r_mark_regions(e, context)) {
break lab1;
}
break lab1;
}
e.c = v_2;
e.lb = e.c;
e.c = e.l;
let v_3 = e.l - e.c;
lab2: while (true) {
lab3: while (true) {
let v_4 = e.l - e.c;
lab4: while (true) {
let v_5 = e.l - e.c;
lab5: while (true) {
let v_6 = e.l - e.c;
lab6: while (true) {
if (!r_standard_suffix(e, context)) {
break lab6;
}
break lab5;
}
e.c = e.l - v_6;
lab7: while (true) {
if (!r_i_verb_suffix(e, context)) {
break lab7;
}
break lab5;
}
e.c = e.l - v_6;
if (!r_verb_suffix(e, context)) {
break lab4;
}
break lab5;
}
e.c = e.l - v_5;
let v_7 = e.l - e.c;
lab8: while (true) {
e.ket = e.c;
lab9: while (true) {
let v_8 = e.l - e.c;
lab10: while (true) {
if (!e.eqB("Y")) {
break lab10;
}
e.bra = e.c;
if (!e.sliceFrom("i")) {
return false;
}
break lab9;
}
e.c = e.l - v_8;
if (!e.eqB("\u00E7")) {
e.c = e.l - v_7;
break lab8;
}
e.bra = e.c;
if (!e.sliceFrom("c")) {
return false;
}
break lab9;
}
break lab8;
}
break lab3;
}
e.c = e.l - v_4;
if (!r_residual_suffix(e, context)) {
break lab2;
}
break lab3;
}
break lab2;
}
e.c = e.l - v_3;
let v_9 = e.l - e.c;
lab11: while (true) {
if (!r_un_double(e, context)) {
break lab11;
}
break lab11;
}
e.c = e.l - v_9;
let v_10 = e.l - e.c;
lab12: while (true) {
if (!r_un_accent(e, context)) {
break lab12;
}
break lab12;
}
e.c = e.l - v_10;
e.c = e.lb;
let v_11 = e.c;
lab13: while (true) {
if (!r_postlude(e, context)) {
break lab13;
}
break lab13;
}
e.c = v_11;
return true;
}
return (word) => {
  machine.set(word);
  Stem(machine);
  return machine.s;
};
})();
