// RUN: gantry-opt %s --gantry-plan-memory -split-input-file | FileCheck %s

// %next is copied in while "long" still works on %old: they share no byte although the copy stands
// behind the last use of %old. %after is made when both are done.
// CHECK: plan.arena @transient_d1 transient on @d1 size 128
// CHECK-LABEL: plan.func @overlap
// CHECK-DAG: plan.buffer size 64 on @d1 in @transient_d1 at [[OLD:[0-9]+]] "old"
// CHECK-DAG: plan.buffer size 64 on @d1 in @transient_d1 at [[OLD]] "after"
// CHECK-DAG: plan.buffer size 64 on @d1 in @transient_d1 at {{[0-9]+}} "next"
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1 flops 1.0e+9
plan.func @overlap inputs [#plan.binding<"x" : tensor<16xf32> on @d0>] outputs [] {
  %x = plan.input 0 size 64
  %old = plan.buffer size 64 on @d1 "old" : tensor<16xf32>
  %next = plan.buffer size 64 on @d1 "next" : tensor<16xf32>
  %after = plan.buffer size 64 on @d1 "after" : tensor<16xf32>
  plan.launch @k() -> (%old) items 1 grain 1 flops 1000000000 on @d1 "" [] at ""
  plan.launch @k(%old) -> () items 1 grain 1 flops 1000000000 on @d1 "long" [] at ""
  plan.copy %x to %next on @d1 queue 1 "x" at ""
  plan.launch @k(%next) -> (%after) items 1 grain 1 on @d1 "" [] at ""
}

// -----

// The same on a device without room for both: the copy will have to wait.
// CHECK: plan.arena @transient_d1 transient on @d1 size 64 lower_bound 64
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1 limit 100 flops 1.0e+9
plan.func @tight inputs [#plan.binding<"x" : tensor<16xf32> on @d0>] outputs [] {
  %x = plan.input 0 size 64
  %old = plan.buffer size 64 on @d1 "old" : tensor<16xf32>
  %next = plan.buffer size 64 on @d1 "next" : tensor<16xf32>
  plan.launch @k() -> (%old) items 1 grain 1 flops 1000000000 on @d1 "" [] at ""
  plan.launch @k(%old) -> () items 1 grain 1 flops 1000000000 on @d1 "long" [] at ""
  plan.copy %x to %next on @d1 queue 1 "x" at ""
  plan.launch @k(%next) -> () items 1 grain 1 on @d1 "" [] at ""
}

// -----

// Values come in as early as they can, and where there is no room for all of them, each just before
// its use; not past what writes the source, nor out of its segment.
// CHECK: plan.arena @transient_d1 transient on @d1 size 64 lower_bound 64
// CHECK-LABEL: plan.func @late
// CHECK: plan.copy {{.*}} "a" at
// CHECK-NEXT: plan.launch @k({{.*}}"use_a"
// CHECK-NEXT: plan.copy {{.*}} "b" at
// CHECK-NEXT: plan.launch @k({{.*}}"use_b"
// CHECK: plan.copy {{.*}} "c" at
// CHECK-NEXT: plan.launch {{.*}} "overwrite"
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1 limit 100
plan.func @late inputs [#plan.binding<"x" : tensor<16xf32> on @d0>] outputs [] {
  %x = plan.input 0 size 64
  %h = plan.buffer size 64 on @d0 "h" : tensor<16xf32>
  %a = plan.buffer size 64 on @d1 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d1 "b" : tensor<16xf32>
  %c = plan.buffer size 64 on @d1 "c" : tensor<16xf32>
  plan.launch @k() -> (%h) items 1 grain 1 on @d0 "" [] at ""
  plan.copy %x to %a on @d1 queue 1 "a" at ""
  plan.copy %x to %b on @d1 queue 1 "b" at ""
  plan.launch @k(%a) -> () items 1 grain 1 on @d1 "use_a" [] at ""
  plan.launch @k(%b) -> () items 1 grain 1 on @d1 "use_b" [] at ""
  plan.copy %h to %c on @d1 queue 1 "c" at ""
  plan.launch @k() -> (%h) items 1 grain 1 on @d0 "overwrite" [] at ""
  plan.launch @k(%c) -> () items 1 grain 1 on @d1 "use_c" [] at ""
}

// -----

// Constants lie in the arena of their device.
// CHECK: plan.arena @constants_d0 constants on @d0 size 64
// CHECK: plan.arena @constants_d1 constants on @d1 size 128
// CHECK: plan.constant @c0 "a" on @d1 in @constants_d1 offset 0
// CHECK: plan.constant @c1 "b" on @d0 in @constants_d0 offset 0
// CHECK: plan.constant @c2 "c" on @d1 in @constants_d1 offset 64
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1
plan.constant @c0 "a" on @d1 offset -1 size 4 : tensor<f32> = dense<1.0> : tensor<f32>
plan.constant @c1 "b" on @d0 offset -1 size 4 : tensor<f32> = dense<1.0> : tensor<f32>
plan.constant @c2 "c" on @d1 offset -1 size 4 : tensor<f32> = dense<2.0> : tensor<f32>

// -----

// What goes in one transfer comes in one by one where there is no room for all of it.
// CHECK: plan.arena @transient_d1 transient on @d1 size 64 lower_bound 64
// CHECK-LABEL: plan.func @apart
// CHECK: plan.copy %{{[^,]*}} to %[[A:[^,]*]] on @d1 queue 1 for "one" "a" at "g:1"{{$}}
// CHECK-NEXT: plan.launch @k(%[[A]]) {{.*}} "use_a"
// CHECK-NEXT: plan.copy %{{[^,]*}} to %[[B:[^,]*]] on @d1 queue 1 for "two" "b" at "g:2"{{$}}
// CHECK-NEXT: plan.launch @k(%[[B]]) {{.*}} "use_b"
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1 limit 100
plan.func @apart inputs [#plan.binding<"x" : tensor<16xf32> on @d0>] outputs [] {
  %x = plan.input 0 size 64
  %a = plan.buffer size 64 on @d1 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d1 "b" : tensor<16xf32>
  plan.copy %x, %x to %a, %b on @d1 queue 1 for "one" "a" at "g:1" also [#plan.copied<"b" at "g:2" for "two">]
  plan.launch @k(%a) -> () items 1 grain 1 on @d1 "use_a" [] at ""
  plan.launch @k(%b) -> () items 1 grain 1 on @d1 "use_b" [] at ""
}

// -----

// What the host keeps comes one by one when there is room for it; those whose room is there at the same time go together again.
// CHECK: plan.arena @transient_d1 transient on @d1 size 256 lower_bound 256
// CHECK-LABEL: plan.func @together
// CHECK: plan.copy %{{[^,]*}}, %{{[^,]*}} to %[[X:[^,]*]], %[[A:[^,]*]] on @d1 queue 1 for "one" "x" at "g:1" also [#plan.copied<"a" at "g:2" for "two">]
// CHECK-NEXT: plan.launch @k(%[[X]]) {{.*}} "first"
// CHECK-NEXT: plan.copy %{{[^,]*}}, %{{[^,]*}} to %[[B:[^,]*]], %[[C:[^,]*]] on @d1 queue 1 for "three" "b" at "g:3" also [#plan.copied<"c" at "g:4" for "four">]{{$}}
// CHECK: plan.launch @k(%[[B]]) {{.*}} "use_b"
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1 limit 300
plan.constant @ca "a" on @d0 offset -1 size 64 : tensor<16xf32> = dense<1.0> : tensor<16xf32>
plan.constant @cb "b" on @d0 offset -1 size 64 : tensor<16xf32> = dense<2.0> : tensor<16xf32>
plan.constant @cc "c" on @d0 offset -1 size 64 : tensor<16xf32> = dense<3.0> : tensor<16xf32>
plan.func @together inputs [#plan.binding<"x" : tensor<16xf32> on @d0>] outputs [] {
  %x = plan.input 0 size 64
  %0 = plan.use @ca size 64
  %1 = plan.use @cb size 64
  %2 = plan.use @cc size 64
  %x1 = plan.buffer size 64 on @d1 "x" : tensor<16xf32>
  %a = plan.buffer size 64 on @d1 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d1 "b" : tensor<16xf32>
  %c = plan.buffer size 64 on @d1 "c" : tensor<16xf32>
  %t = plan.buffer size 128 on @d1 "t" : tensor<32xf32>
  plan.copy %x, %0, %1, %2 to %x1, %a, %b, %c on @d1 queue 1 for "one" "x" at "g:1" also [#plan.copied<"a" at "g:2" for "two">, #plan.copied<"b" at "g:3" for "three">, #plan.copied<"c" at "g:4" for "four">]
  plan.launch @k(%x1) -> (%t) items 1 grain 1 on @d1 "first" [] at ""
  plan.launch @k(%a) -> () items 1 grain 1 on @d1 "use_a" [] at ""
  plan.launch @k(%b) -> () items 1 grain 1 on @d1 "use_b" [] at ""
  plan.launch @k(%c) -> () items 1 grain 1 on @d1 "use_c" [] at ""
}

// -----

// Values go out while the next one is made, and where there is no room for more, that is as long as the one behind it waits.
// CHECK: plan.arena @transient_d1 transient on @d1 size 128 lower_bound 128
// CHECK-LABEL: plan.func @early
// CHECK: plan.launch {{.*}}"make_a"
// CHECK-NEXT: plan.launch {{.*}}"make_b"
// CHECK-NEXT: plan.copy {{.*}}"a" at
// CHECK-NEXT: plan.launch {{.*}}"make_c"
// CHECK-NEXT: plan.copy {{.*}}"b" at
// CHECK-NEXT: plan.copy {{.*}}"c" at
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1 limit 150
plan.func @early inputs [] outputs [#plan.binding<"y0" : tensor<16xf32> on @d0>, #plan.binding<"y1" : tensor<16xf32> on @d0>, #plan.binding<"y2" : tensor<16xf32> on @d0>] {
  %y0 = plan.output 0 size 64
  %y1 = plan.output 1 size 64
  %y2 = plan.output 2 size 64
  %a = plan.buffer size 64 on @d1 "a" : tensor<16xf32>
  %b = plan.buffer size 64 on @d1 "b" : tensor<16xf32>
  %c = plan.buffer size 64 on @d1 "c" : tensor<16xf32>
  plan.launch @k() -> (%a) items 1 grain 1 on @d1 "make_a" [] at ""
  plan.launch @k() -> (%b) items 1 grain 1 on @d1 "make_b" [] at ""
  plan.launch @k() -> (%c) items 1 grain 1 on @d1 "make_c" [] at ""
  plan.copy %a to %y0 on @d1 queue 2 "a" at ""
  plan.copy %b to %y1 on @d1 queue 2 "b" at ""
  plan.copy %c to %y2 on @d1 queue 2 "c" at ""
}
