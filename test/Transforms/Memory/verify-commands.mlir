// RUN: gantry-opt %s --gantry-verify-commands -split-input-file | FileCheck %s

// A value goes from queue to queue, its place is used again by what comes after, and the wait that
// the second launch would need is one that its queue has had.
// CHECK-LABEL: plan.func @ordered
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim"
plan.constant @c0 "w" on @d1 offset 0 size 64 : tensor<16xf32>
plan.func @ordered inputs [] outputs [] {
  %x = plan.input 0 size 64
  %y = plan.output 0 size 64
  %w = plan.use @c0 size 64
  %a = plan.buffer size 64 on @d1 in @transient_d1 at 0 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d1 in @transient_d1 at 64 "b" : tensor<16xf32>
  %c = plan.buffer size 64 on @d1 in @transient_d1 at 0 "c" : tensor<16xf32>
  plan.copy %x to %a on @d1 queue 1 "x" at ""
  plan.signal 0 on @d1 queue 1
  plan.wait 0 on @d1
  plan.launch @k(%a, %w) -> (%b) items 1 grain 1 on @d1 "one" [] at ""
  plan.launch @k(%b) -> (%c) items 1 grain 1 on @d1 "two" [] at ""
  plan.signal 1 on @d1
  plan.wait 1 on @d1 queue 2
  plan.copy %c to %y on @d1 queue 2 "y" at ""
}

// -----

// Branches and loops join all queues, a result is written on both ways, and what a body reads in
// every round stays where it is.
// CHECK-LABEL: plan.func @control
plan.func @control inputs [] outputs [] {
  %c = plan.input 0 size 1
  %x = plan.input 1 size 64
  %y = plan.output 0 size 64
  %a = plan.buffer size 64 on @d1 in @transient_d1 at 0 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d1 in @transient_d1 at 64 "b" : tensor<16xf32>
  %more = plan.buffer size 1 on @d0 in @transient_d0 at 0 "more" : tensor<i1>
  plan.if %c {
    plan.copy %x to %a on @d1 queue 1 "x" at ""
  } else {
    plan.launch @k(%x) -> (%a) items 1 grain 1 on @d1 "else" [] at ""
  }
  plan.while %more {
    plan.launch @is_more(%a) -> (%more) items 1 grain 1 on @d0 "more" [] at ""
  } do {
    plan.launch @k(%a) -> (%b) items 1 grain 1 on @d1 "body" [] at ""
  }
  plan.copy %a to %y on @d1 queue 2 "y" at ""
}
