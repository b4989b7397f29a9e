// RUN: gantry-opt %s --gantry-verify-commands -split-input-file -verify-diagnostics

// A value that another queue reads before it is known to be there.
plan.func @unordered inputs [] outputs [] {
  %x = plan.input 0 size 64
  %a = plan.buffer size 64 on @d1 in @transient_d1 at 64 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d1 in @transient_d1 at 128 "b" : tensor<16xf32>
  plan.copy %x to %a on @d1 queue 1 "x" at ""
  // expected-error @below {{"fc1" on queue 0 of @d1 reads "a" (bytes 64 to 128 of the transient memory of @d1), the copy of "x" on queue 1 of @d1 writes "a" (bytes 64 to 128 of the transient memory of @d1), and nothing orders them; expected a signal after the copy of "x" on queue 1 of @d1 and a wait before "fc1" on queue 0 of @d1}}
  plan.launch @k(%a) -> (%b) items 1 grain 1 on @d1 "fc1" [] at ""
}

// -----

// Memory that is used again before its reader is known to be done.
plan.func @reused inputs [] outputs [] {
  %x = plan.input 0 size 64
  %y = plan.output 0 size 64
  %a = plan.buffer size 64 on @d1 in @transient_d1 at 0 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d1 in @transient_d1 at 0 "b" : tensor<16xf32>
  plan.launch @k(%x) -> (%a) items 1 grain 1 on @d1 "fc1" [] at ""
  plan.launch @k(%a) -> (%y) items 1 grain 1 on @d1 "fc2" [] at ""
  // expected-error @below {{the copy of "z" on queue 1 of @d1 writes "b" (bytes 0 to 64 of the transient memory of @d1), "fc1" on queue 0 of @d1 writes "a" (bytes 0 to 64 of the transient memory of @d1), and nothing orders them; expected a signal after "fc1" on queue 0 of @d1 and a wait before the copy of "z" on queue 1 of @d1}}
  plan.copy %x to %b on @d1 queue 1 "z" at ""
}

// -----

// Two values in one place, of which the first is still to be read.
plan.func @overwritten inputs [] outputs [] {
  %x = plan.input 0 size 64
  %y = plan.output 0 size 64
  %a = plan.buffer size 64 on @d0 in @transient_d0 at 0 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d0 in @transient_d0 at 0 "b" : tensor<16xf32>
  plan.launch @k(%x) -> (%a) items 1 grain 1 on @d0 "fc1" [] at ""
  plan.launch @k(%x) -> (%b) items 1 grain 1 on @d0 "fc2" [] at ""
  // expected-error @below {{"add" on queue 0 of @d0 reads "a" (bytes 0 to 64 of the transient memory of @d0), where "fc2" on queue 0 of @d0 wrote "b" (bytes 0 to 64 of the transient memory of @d0); expected no byte of both while each holds a value}}
  plan.launch @k(%a, %b) -> (%y) items 1 grain 1 on @d0 "add" [] at ""
}

// -----

// The second round of a loop finds what the first one left.
plan.func @round inputs [] outputs [] {
  %x = plan.input 0 size 64
  %a = plan.buffer size 64 on @d0 in @transient_d0 at 0 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d0 in @transient_d0 at 0 "b" : tensor<16xf32>
  %more = plan.buffer size 1 on @d0 in @transient_d0 at 64 "more" : tensor<i1>
  plan.launch @k(%x) -> (%a) items 1 grain 1 on @d0 "fc1" [] at ""
  plan.while %more {
    // expected-error @below {{"test" on queue 0 of @d0 reads "a" (bytes 0 to 64 of the transient memory of @d0), where "body" on queue 0 of @d0 wrote "b" (bytes 0 to 64 of the transient memory of @d0); expected no byte of both while each holds a value}}
    plan.launch @k(%a) -> (%more) items 1 grain 1 on @d0 "test" [] at ""
  } do {
    plan.launch @k(%x) -> (%b) items 1 grain 1 on @d0 "body" [] at ""
  }
}

// -----

// Only one way of the branch makes its result.
plan.func @unwritten inputs [] outputs [] {
  %c = plan.input 0 size 1
  %y = plan.output 0 size 64
  %a = plan.buffer size 64 on @d0 in @transient_d0 at 0 "a" : tensor<16xf32>
  plan.if %c {
    plan.launch @k(%c) -> (%a) items 1 grain 1 on @d0 "fc1" [] at ""
  } else {
  }
  // expected-error @below {{the copy of "y" on queue 0 of @d0 reads "a" (bytes 0 to 64 of the transient memory of @d0), of which nothing wrote bytes 0 to 64 on some way there; expected a command that does}}
  plan.copy %a to %y on @d0 "y" at ""
}

// -----

// A condition that nobody has written.
plan.func @condition inputs [] outputs [] {
  %c = plan.buffer size 1 on @d0 in @transient_d0 at 0 "c" : tensor<i1>
  // expected-error @below {{the branch reads "c" (bytes 0 to 1 of the transient memory of @d0), of which nothing wrote bytes 0 to 1 on some way there; expected a command that does}}
  plan.if %c {
  } else {
  }
}

// -----

// The same of a loop.
plan.func @loop inputs [] outputs [] {
  %c = plan.buffer size 1 on @d0 in @transient_d0 at 0 "c" : tensor<i1>
  // expected-error @below {{the loop reads "c" (bytes 0 to 1 of the transient memory of @d0), of which nothing wrote bytes 0 to 1 on some way there; expected a command that does}}
  plan.while %c {
  } do {
  }
}

// -----

// An output that no command writes.
// expected-error @below {{the caller reads output 0, of which nothing wrote bytes 0 to 64 on some way there; expected a command that does}}
plan.func @silent inputs [] outputs [] {
  %y = plan.output 0 size 64
}

// -----

// A kernel whose result lies over one of its operands, and is another buffer.
plan.func @shared inputs [] outputs [] {
  %x = plan.input 0 size 64
  %a = plan.buffer size 64 on @d0 in @transient_d0 at 0 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d0 in @transient_d0 at 0 "b" : tensor<16xf32>
  plan.launch @k(%x) -> (%a) items 1 grain 1 on @d0 "fc1" [] at ""
  // expected-error @below {{"relu" on queue 0 of @d0 writes "b" (bytes 0 to 64 of the transient memory of @d0) and reads "a" (bytes 0 to 64 of the transient memory of @d0) with it; expected no byte of both}}
  plan.launch @k(%a) -> (%b) items 1 grain 1 on @d0 "relu" [] at ""
}

// -----

// Two results of one kernel in one place.
plan.func @results inputs [] outputs [] {
  %x = plan.input 0 size 64
  %a = plan.buffer size 64 on @d0 in @transient_d0 at 0 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d0 in @transient_d0 at 0 "b" : tensor<16xf32>
  // expected-error @below {{"split" on queue 0 of @d0 writes "b" (bytes 0 to 64 of the transient memory of @d0) and writes "a" (bytes 0 to 64 of the transient memory of @d0) with it; expected no byte of both}}
  plan.launch @k(%x) -> (%a, %b) items 1 grain 1 on @d0 "split" [] at ""
}

// -----

// Two constants in one place.
// expected-error @below {{the caller reads "v" (bytes 0 to 64 of the constants of @d0), where the caller gave "w" (bytes 32 to 96 of the constants of @d0); expected no byte of both while each holds a value}}
module {
  plan.constant @c0 "v" on @d0 offset 0 size 64 : tensor<16xf32>
  plan.constant @c1 "w" on @d0 offset 32 size 64 : tensor<16xf32>
}

// -----

// A variable without a place.
// expected-error @below {{'plan.variable' op has no place in an arena after Memory}}
plan.variable @v0 "w" on @d0 size 64 : tensor<16xf32>

// -----

// A constant that is not there.
plan.func @absent inputs [] outputs [] {
  %y = plan.output 0 size 64
  // expected-error @below {{'plan.use' op refers to '@c0', which the module does not declare}}
  %w = plan.use @c0 size 64
  plan.copy %w to %y on @d0 "y" at ""
}

// -----

// A wait for what is signalled later.
plan.func @early inputs [] outputs [] {
  // expected-error @below {{semaphore 0 is not signalled on every way to this wait; expected its signal before it, in the same list of commands or one around it}}
  plan.wait 0 on @d1
  plan.signal 0 on @d1 queue 1
}

// -----

// Two signals of one semaphore.
plan.func @twice inputs [] outputs [] {
  plan.signal 0 on @d1 queue 1
  // expected-error @below {{semaphore 0 is signalled twice; expected one signal each}}
  plan.signal 0 on @d1 queue 2
}
