// RUN: gantry-opt %s --gantry-plan-memory --gantry-verify-plan --gantry-verify-commands -split-input-file | FileCheck %s

// What a join puts one behind the other is made there: the join goes, and its operands are parts of the result's
// buffer. The arena is no larger than the result and what makes it.
// CHECK: plan.arena @transient_d0 transient on @d0 size 128 lower_bound 128
// CHECK-LABEL: plan.func @join
// CHECK: %[[W:.*]] = plan.buffer size 128 on @d0 in @transient_d0 at 0 "w" : {{.*}} {gantry.shares = array<i64: 0, 0>}
// CHECK: %[[A:.*]] = plan.buffer size 64 on @d0 in @transient_d0 at 0 "a" : {{.*}} {gantry.shares = array<i64: 0, 0>}
// CHECK: %[[B:.*]] = plan.buffer size 64 on @d0 in @transient_d0 at 64 "b" : {{.*}} {gantry.shares = array<i64: 0, 64>}
// CHECK-NEXT: plan.launch @k(%{{.*}}) -> (%[[A]])
// CHECK-NEXT: plan.launch @k(%{{.*}}) -> (%[[B]])
// CHECK-NEXT: plan.launch @k(%[[W]]) -> (%{{.*}})
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.func @join inputs [] outputs [] {
  %x = plan.input 0 size 64
  %y = plan.output 0 size 128
  %a = plan.buffer size 64 on @d0 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d0 "b" : tensor<16xf32>
  %w = plan.buffer size 128 on @d0 "w" : tensor<32xf32>
  plan.launch @k(%x) -> (%a) items 1 grain 1 on @d0 "a" [] at ""
  plan.launch @k(%x) -> (%b) items 1 grain 1 on @d0 "b" [] at ""
  plan.launch @concat(%a, %b) -> (%w) items 1 grain 1 on @d0 "w" [] at "" {gantry.joins = array<i64: 0, 1>}
  plan.launch @k(%w) -> (%y) items 1 grain 1 on @d0 "y" [] at ""
}

// -----

// What is cut lies where it was. The second result begins at no multiple of 64 bytes and is copied.
// CHECK-LABEL: plan.func @cut
// CHECK: %[[W:.*]] = plan.buffer size 192 on @d0 in @transient_d0 at [[AT:[0-9]+]] "w" : {{.*}} {gantry.shares = array<i64: 0, 0>}
// CHECK: %[[A:.*]] = plan.buffer size 136 on @d0 in @transient_d0 at [[AT]] "a" : {{.*}} {gantry.shares = array<i64: 0, 0>}
// CHECK: %[[B:.*]] = plan.buffer size 56 on @d0 in @transient_d0 at {{[0-9]+}} "b" : tensor<14xf32>{{$}}
// CHECK: plan.launch @k(%{{.*}}) -> (%[[W]])
// CHECK: %[[PART:.*]] = plan.buffer size 56 on @d0 in {{.*}} "split" : tensor<56xi8> {gantry.shares = array<i64: 0, 136>}
// CHECK-NEXT: plan.copy %[[PART]] to %[[B]] on @d0 "split" at "here"
// CHECK-NEXT: plan.launch @add(%[[A]], %[[B]]) -> (%{{.*}})
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.func @cut inputs [] outputs [] {
  %x = plan.input 0 size 64
  %y = plan.output 0 size 64
  %w = plan.buffer size 192 on @d0 "w" : tensor<48xf32>
  %a = plan.buffer size 136 on @d0 "a" : tensor<34xf32>
  %b = plan.buffer size 56 on @d0 "b" : tensor<14xf32>
  plan.launch @k(%x) -> (%w) items 1 grain 1 on @d0 "w" [] at ""
  plan.launch @split(%w) -> (%a, %b) items 1 grain 1 on @d0 "split" [] at "here" {gantry.cuts = array<i64: 0, 136>}
  plan.launch @add(%a, %b) -> (%y) items 1 grain 1 on @d0 "y" [] at ""
}

// -----

// A join of a join: all lie in the last one. What is there twice is copied, as is an input.
// CHECK-LABEL: plan.func @nested
// CHECK: %[[V:.*]] = plan.buffer size 384 on @d0 in @transient_d0 at 0 "v" : {{.*}} {gantry.shares = array<i64: 0, 0>}
// CHECK: %[[A:.*]] = plan.buffer size 128 on @d0 in @transient_d0 at 0 "a" : {{.*}} {gantry.shares = array<i64: 0, 0>}
// CHECK: plan.buffer size 256 on @d0 in @transient_d0 at 0 "w" : {{.*}} {gantry.shares = array<i64: 0, 0>}
// CHECK: plan.launch @k(%[[X:.*]]) -> (%[[A]])
// CHECK: %[[SECOND:.*]] = plan.buffer size 128 {{.*}} at 128 "w" : {{.*}} {gantry.shares = array<i64: 0, 128>}
// CHECK-NEXT: plan.copy %[[A]] to %[[SECOND]] on @d0 "w"
// CHECK-NEXT: %[[THIRD:.*]] = plan.buffer size 128 {{.*}} at 256 "v" : {{.*}} {gantry.shares = array<i64: 0, 256>}
// CHECK-NEXT: plan.copy %[[X]] to %[[THIRD]] on @d0 "v"
// CHECK-NEXT: plan.launch @k(%[[V]])
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.func @nested inputs [] outputs [] {
  %x = plan.input 0 size 128
  %y = plan.output 0 size 64
  %a = plan.buffer size 128 on @d0 "a" : tensor<32xf32>
  %w = plan.buffer size 256 on @d0 "w" : tensor<64xf32>
  %v = plan.buffer size 384 on @d0 "v" : tensor<96xf32>
  plan.launch @k(%x) -> (%a) items 1 grain 1 on @d0 "a" [] at ""
  plan.launch @concat(%a) -> (%w) items 1 grain 1 on @d0 "w" [] at "" {gantry.joins = array<i64: 0, 0>}
  plan.launch @concat(%w, %x) -> (%v) items 1 grain 1 on @d0 "v" [] at "" {gantry.joins = array<i64: 0, 1>}
  plan.launch @k(%v) -> (%y) items 1 grain 1 on @d0 "y" [] at ""
}

// -----

// An operand that is read after the result was overwritten in place keeps its bytes: it is not the larger half that
// could share, so the join stays.
// CHECK-LABEL: plan.func @overwritten
// CHECK-NOT: gantry.shares
// CHECK: plan.launch @concat
// CHECK-NOT: gantry.joins
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.func @overwritten inputs [] outputs [] {
  %x = plan.input 0 size 128
  %y = plan.output 0 size 64
  %a = plan.buffer size 128 on @d0 "a" : tensor<32xf32>
  %b = plan.buffer size 64 on @d0 "b" : tensor<16xf32>
  %w = plan.buffer size 192 on @d0 "w" : tensor<48xf32>
  plan.launch @k(%x) -> (%a) items 1 grain 1 on @d0 "a" [] at ""
  plan.launch @k(%x) -> (%b) items 1 grain 1 on @d0 "b" [] at ""
  plan.launch @concat(%a, %b) -> (%w) items 1 grain 1 on @d0 "w" [] at "" {gantry.joins = array<i64: 0, 1>}
  plan.launch @relu(%w) -> (%w) items 1 grain 1 on @d0 "relu" [] at ""
  plan.launch @add(%w, %a) -> (%y) items 1 grain 1 on @d0 "y" [] at ""
}

// -----

// An operand that would hold the bytes of a large result for long, through the fullest moment, is copied.
// CHECK: plan.arena @transient_d0 transient on @d0 size 576 lower_bound 576
// CHECK-LABEL: plan.func @full
// CHECK: plan.buffer size 64 {{.*}} "a" : tensor<16xf32>{{$}}
// CHECK: plan.buffer size 256 {{.*}} "b" : tensor<64xf32> {gantry.shares = array<i64: 0, 64>}
// CHECK: plan.copy %{{.*}} to %{{.*}} on @d0 "w"
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.func @full inputs [] outputs [] {
  %x = plan.input 0 size 64
  %y = plan.output 0 size 64
  %a = plan.buffer size 64 on @d0 "a" : tensor<16xf32>
  %most = plan.buffer size 512 on @d0 "most" : tensor<128xf32>
  %b = plan.buffer size 256 on @d0 "b" : tensor<64xf32>
  %w = plan.buffer size 320 on @d0 "w" : tensor<80xf32>
  plan.launch @k(%x) -> (%a) items 1 grain 1 on @d0 "a" [] at ""
  plan.launch @k(%x) -> (%most) items 1 grain 1 on @d0 "most" [] at ""
  plan.launch @k(%most) -> (%y) items 1 grain 1 on @d0 "y" [] at ""
  plan.launch @k(%x) -> (%b) items 1 grain 1 on @d0 "b" [] at ""
  plan.launch @concat(%a, %b) -> (%w) items 1 grain 1 on @d0 "w" [] at "" {gantry.joins = array<i64: 0, 1>}
  plan.launch @k(%w) -> (%y) items 1 grain 1 on @d0 "y" [] at ""
}

// -----

// What comes over a link may come late, and is copied; so is what a loop's body reads from outside of it. What the
// body makes and joins shares, as does what is used around the loop alone.
// CHECK-LABEL: plan.func @loop
// CHECK: plan.buffer size 64 {{.*}} "brought" : tensor<16xf32>{{$}}
// CHECK: plan.buffer size 128 {{.*}} "v" : tensor<32xf32> {gantry.shares = array<i64: 1, 0>}
// CHECK: plan.buffer size 64 {{.*}} "carried" : tensor<16xf32> {gantry.shares = array<i64: 1, 64>}
// CHECK: } do {
// CHECK: plan.buffer size 128 {{.*}} "w" : tensor<32xf32> {gantry.shares = array<i64: 0, 0>}
// CHECK: plan.buffer size 64 {{.*}} "inner" : tensor<16xf32> {gantry.shares = array<i64: 0, 0>}
// CHECK: plan.copy %{{.*}} to %{{.*}} on @d1 "w"
// CHECK: }
// CHECK: plan.copy %{{.*}} to %{{.*}} on @d1 "v"
// CHECK-NOT: plan.launch @concat
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim"
plan.func @loop inputs [] outputs [] {
  %x = plan.input 0 size 64
  %y = plan.output 0 size 64
  %brought = plan.buffer size 64 on @d1 "brought" : tensor<16xf32>
  %carried = plan.buffer size 64 on @d1 "carried" : tensor<16xf32>
  %flag = plan.buffer size 1 on @d1 "flag" : tensor<i1>
  %v = plan.buffer size 128 on @d1 "v" : tensor<32xf32>
  plan.copy %x to %brought on @d1 queue 1 "x" at ""
  plan.signal 0 on @d1 queue 1
  plan.wait 0 on @d1
  plan.launch @k(%brought) -> (%carried) items 1 grain 1 on @d1 "carried" [] at ""
  plan.while %flag {
    plan.launch @k(%carried) -> (%flag) items 1 grain 1 on @d1 "flag" [] at ""
  } do {
    %inner = plan.buffer size 64 on @d1 "inner" : tensor<16xf32>
    %w = plan.buffer size 128 on @d1 "w" : tensor<32xf32>
    plan.launch @k(%carried) -> (%inner) items 1 grain 1 on @d1 "inner" [] at ""
    plan.launch @concat(%inner, %carried) -> (%w) items 1 grain 1 on @d1 "w" [] at "" {gantry.joins = array<i64: 0, 1>}
    plan.launch @k(%w) -> (%carried) items 1 grain 1 on @d1 "next" [] at ""
  }
  plan.launch @concat(%brought, %carried) -> (%v) items 1 grain 1 on @d1 "v" [] at "" {gantry.joins = array<i64: 0, 1>}
  plan.launch @k(%v) -> (%y) items 1 grain 1 on @d1 "y" [] at ""
}
