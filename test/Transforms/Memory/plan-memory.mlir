// RUN: gantry-opt %s --gantry-plan-memory -split-input-file | FileCheck %s

// Buffers that live at the same time get places of their own, others share; the arena is as large as
// the peak. Sizes are rounded to 64 bytes.
// CHECK: plan.arena @constants_d0 constants on @d0 size 0 lower_bound 0
// CHECK: plan.arena @transient_d0 transient on @d0 size 128 lower_bound 128
// CHECK-LABEL: plan.func @chain
// CHECK: plan.buffer size 64 on @d0 in @transient_d0 at [[A:[0-9]+]] "a"
// CHECK: plan.buffer size 64 on @d0 in @transient_d0 at {{[0-9]+}} "b"
// CHECK: plan.buffer size 60 on @d0 in @transient_d0 at [[A]] "c"
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.func @chain inputs [] outputs [] {
  %x = plan.input 0 size 64
  %y = plan.output 0 size 64
  %a = plan.buffer size 64 on @d0 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d0 "b" : tensor<16xf32>
  %c = plan.buffer size 60 on @d0 "c" : tensor<15xf32>
  plan.launch @k(%x) -> (%a) items 1 grain 1 on @d0 "" [] at ""
  plan.launch @k(%a) -> (%b) items 1 grain 1 on @d0 "" [] at ""
  plan.launch @k(%b) -> (%c) items 1 grain 1 on @d0 "" [] at ""
  plan.launch @k(%c) -> (%y) items 1 grain 1 on @d0 "" [] at ""
}

// -----

// Constants lie one after the other, at multiples of 64 bytes.
// CHECK: plan.arena @constants_d0 constants on @d0 size 192 lower_bound 192
// CHECK: plan.constant @c0 "a" on @d0 in @constants_d0 offset 0 size 4
// CHECK: plan.constant @c1 "b" on @d0 in @constants_d0 offset 64 size 68
// CHECK-NOT: transient
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.constant @c0 "a" on @d0 offset -1 size 4 : tensor<f32> = dense<1.0> : tensor<f32>
plan.constant @c1 "b" on @d0 offset -1 size 68 : tensor<17xf32> = dense<2.0> : tensor<17xf32>

// -----

// What a loop uses and does not declare lives through the whole loop: the value that the body reads
// keeps its place although the next one is made after the last use.
// CHECK: plan.arena @transient_d0 transient on @d0 size 192 lower_bound 192
// CHECK-LABEL: plan.func @loop
// CHECK: plan.buffer size 64 on @d0 in @transient_d0 at [[OUTER:[0-9]+]] "outer"
// CHECK: plan.buffer size 1 on @d0 in @transient_d0 at [[FLAG:[0-9]+]] "flag"
// CHECK-NOT: plan.buffer size 64 on @d0 in @transient_d0 at [[OUTER]]
// CHECK-NOT: plan.buffer size 64 on @d0 in @transient_d0 at [[FLAG]]
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.func @loop inputs [] outputs [] {
  %x = plan.input 0 size 64
  %y = plan.output 0 size 64
  %outer = plan.buffer size 64 on @d0 "outer" : tensor<16xf32>
  %flag = plan.buffer size 1 on @d0 "flag" : tensor<i1>
  plan.launch @k(%x) -> (%outer) items 1 grain 1 on @d0 "" [] at ""
  plan.while %flag {
    plan.launch @k(%x) -> (%flag) items 1 grain 1 on @d0 "" [] at ""
  } do {
    plan.launch @k(%outer) -> (%y) items 1 grain 1 on @d0 "" [] at ""
    %inner = plan.buffer size 64 on @d0 "inner" : tensor<16xf32>
    plan.launch @k(%x) -> (%inner) items 1 grain 1 on @d0 "" [] at ""
    plan.launch @k(%inner) -> (%y) items 1 grain 1 on @d0 "" [] at ""
  }
}

// -----

// One branch runs: what lives in one may share with what lives in the other.
// CHECK: plan.arena @transient_d0 transient on @d0 size 64 lower_bound 64
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.func @branches inputs [] outputs [] {
  %c = plan.input 0 size 1
  %x = plan.input 1 size 64
  %y = plan.output 0 size 64
  plan.if %c {
    %a = plan.buffer size 64 on @d0 "a" : tensor<16xf32>
    plan.launch @k(%x) -> (%a) items 1 grain 1 on @d0 "" [] at ""
    plan.launch @k(%a) -> (%y) items 1 grain 1 on @d0 "" [] at ""
  } else {
    %b = plan.buffer size 64 on @d0 "b" : tensor<16xf32>
    plan.launch @k(%x) -> (%b) items 1 grain 1 on @d0 "" [] at ""
    plan.launch @k(%b) -> (%y) items 1 grain 1 on @d0 "" [] at ""
  }
}

// -----

// Functions do not run at the same time: the arena is the largest one's. Each device has its own.
// CHECK: plan.arena @constants_d0 constants on @d0 size 0
// CHECK: plan.arena @transient_d0 transient on @d0 size 256 lower_bound 256
// CHECK: plan.arena @transient_d1 transient on @d1 size 64 lower_bound 64
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d1 "/job:localhost/replica:0/task:0/device:CPU:1" on "host"
plan.func @small inputs [] outputs [] {
  %a = plan.buffer size 64 on @d0 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d1 "b" : tensor<16xf32>
  plan.launch @k() -> (%a, %b) items 1 grain 1 on @d0 "" [] at ""
}
plan.func @large inputs [] outputs [] {
  %a = plan.buffer size 256 on @d0 "a" : tensor<64xf32>
  plan.launch @k() -> (%a) items 1 grain 1 on @d0 "" [] at ""
}

// -----

// A scratch buffer must not share with what the same launch reads or writes.
// CHECK: plan.arena @transient_d0 transient on @d0 size 192 lower_bound 192
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.func @scratch inputs [] outputs [] {
  %a = plan.buffer size 64 on @d0 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d0 "b" : tensor<16xf32>
  %s = plan.buffer size 64 on @d0 "scratch" : tensor<64xi8>
  plan.launch @k() -> (%a) items 1 grain 1 on @d0 "" [] at ""
  plan.launch @k(%a) -> (%b) scratch %s items 1 grain 1 on @d0 "" [] at ""
  plan.launch @k(%b) -> () items 1 grain 1 on @d0 "" [] at ""
}

// -----

// A constant without bytes has a place too: in an arena of none.
// CHECK: plan.arena @constants_d1 constants on @d1 size 0 lower_bound 0
// CHECK: plan.constant @c0 "empty" on @d1 in @constants_d1 offset 0 size 0
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim"
plan.constant @c0 "empty" on @d1 offset -1 size 0 : tensor<0xf32> = dense<> : tensor<0xf32>
