// Package slot gives processes of one group on one host names that differ, and the same ones again after a restart: the first is
// called like the host, the second HOST-2, and so on.
//
// A slot is taken by its process and freed by the kernel when that process ends, however it ends. So a process that is killed and
// started again has the name of its predecessor, whose open transaction it ends, while a process that lives (or is frozen) keeps
// its name against everybody else. On Linux a slot is an abstract Unix socket: it needs no file, no folder and no permission, and
// all processes of one network namespace see it, under whatever user. Elsewhere no slot is ever found taken.
package slot
