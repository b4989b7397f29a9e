// RUN: gantry-opt %s --gantry-order-queues -split-input-file | FileCheck %s

// One queue needs no order.
// CHECK-LABEL: plan.func @alone
// CHECK-NOT: plan.signal
// CHECK-NOT: plan.wait
plan.func @alone inputs [] outputs [] {
  %x = plan.input 0 size 64
  %y = plan.output 0 size 64
  %a = plan.buffer size 64 on @d0 in @transient_d0 at 0 "a" : tensor<16xf32>
  plan.launch @k(%x) -> (%a) items 1 grain 1 on @d0 "" [] at ""
  plan.copy %a to %y on @d0 "" at ""
}

// -----

// A value goes from queue to queue: one signal, one wait; the second launch on that queue knows.
// CHECK-LABEL: plan.func @values
// CHECK: plan.copy
// CHECK-NEXT: plan.signal 0 on @d1 queue 1
// CHECK-NEXT: plan.wait 0 on @d1{{$}}
// CHECK-NEXT: plan.launch
// CHECK-NEXT: plan.signal 1 on @d1{{$}}
// CHECK-NEXT: plan.launch
// CHECK-NEXT: plan.wait 1 on @d1 queue 2
// CHECK-NEXT: plan.copy
// CHECK-NOT: plan.wait
plan.func @values inputs [] outputs [] {
  %x = plan.input 0 size 64
  %y = plan.output 0 size 64
  %a = plan.buffer size 64 on @d1 in @transient_d1 at 0 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d1 in @transient_d1 at 64 "b" : tensor<16xf32>
  %c = plan.buffer size 64 on @d1 in @transient_d1 at 128 "c" : tensor<16xf32>
  plan.copy %x to %a on @d1 queue 1 "" at ""
  plan.launch @k(%a) -> (%b) items 1 grain 1 on @d1 "" [] at ""
  plan.launch @k(%a) -> (%c) items 1 grain 1 on @d1 "" [] at ""
  plan.copy %b to %y on @d1 queue 2 "" at ""
}

// -----

// Memory that is used again: the copy into the place of %a comes after its reader. A scratch buffer
// is written, and inputs and constants are not.
// CHECK-LABEL: plan.func @memory
// CHECK: plan.launch @k(%{{.*}}) -> (%{{.*}}) items
// CHECK-NEXT: plan.launch @k({{.*}}) scratch
// CHECK-NEXT: plan.signal 0 on @d1{{$}}
// CHECK-NEXT: plan.wait 0 on @d1 queue 1
// CHECK-NEXT: plan.copy
// CHECK-NOT: plan.wait
plan.func @memory inputs [] outputs [] {
  %x = plan.input 0 size 64
  %w = plan.use @c0 size 64
  %y = plan.output 0 size 64
  %a = plan.buffer size 64 on @d1 in @transient_d1 at 0 "a" : tensor<16xf32>
  %s = plan.buffer size 64 on @d1 in @transient_d1 at 64 "scratch" : tensor<64xi8>
  %b = plan.buffer size 64 on @d1 in @transient_d1 at 32 "b" : tensor<16xf32>
  plan.launch @k(%w) -> (%a) items 1 grain 1 on @d1 "" [] at ""
  plan.launch @k(%a) -> (%y) scratch %s items 1 grain 1 on @d1 "" [] at ""
  plan.copy %x to %b on @d1 queue 1 "" at ""
}

// -----

// Control flow joins all queues: nothing waits across its ends, and semaphores are numbered through
// the whole function. What stands around an `if` is two lists of commands.
// CHECK-LABEL: plan.func @control
// CHECK: plan.copy
// CHECK-NEXT: plan.if
// CHECK-NEXT: plan.launch
// CHECK-NEXT: plan.signal 0
// CHECK-NEXT: plan.wait 0
// CHECK-NEXT: plan.copy
// CHECK-NEXT: } else {
// CHECK-NEXT: }
// CHECK-NEXT: plan.copy
// CHECK-NEXT: plan.signal 1 on @d1 queue 1
// CHECK-NEXT: plan.wait 1 on @d1{{$}}
// CHECK-NEXT: plan.launch
plan.func @control inputs [] outputs [] {
  %c = plan.input 0 size 1
  %x = plan.input 1 size 64
  %y = plan.output 0 size 64
  %a = plan.buffer size 64 on @d1 in @transient_d1 at 0 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d1 in @transient_d1 at 64 "b" : tensor<16xf32>
  plan.copy %x to %a on @d1 queue 1 "" at ""
  plan.if %c {
    plan.launch @k(%a) -> (%b) items 1 grain 1 on @d1 "" [] at ""
    plan.copy %b to %y on @d1 queue 2 "" at ""
  } else {
  }
  plan.copy %x to %a on @d1 queue 1 "" at ""
  plan.launch @k(%a) -> (%b) items 1 grain 1 on @d1 "" [] at ""
}
