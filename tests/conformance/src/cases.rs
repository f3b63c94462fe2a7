//! The list of cases, in groups. A group names the guarantees without which its cases mean nothing.

mod argv;
mod caches;
mod concurrency;
mod cow;
mod endings;
mod environment;
mod events;
mod files;
mod git;
mod limits;
mod model;
mod network;
mod privileges;
mod protect;
mod streams;
mod tree;
mod world;

use crate::scene::Scene;
use polder::Guarantee;

/// One thing that every engine must do.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What must hold.
    pub name: &'static str,
    /// The guarantees that it is about.
    pub needs: &'static [Guarantee],
    /// Panics if it does not hold.
    pub run: fn(&Scene),
}

macro_rules! cases {
    (@needs [$($needs:ident)*]) => { &[$(Guarantee::$needs),*] };
    ($($group:ident $needs:tt { $($case:ident)* })*) => {
        [$($(Case { name: stringify!($case), needs: cases!(@needs $needs), run: $group::$case },)*)*]
    };
}

/// Every case.
pub fn all() -> Vec<Case> {
    let cases = cases! {
        argv [] {
            arguments_arrive_byte_by_byte
            an_argument_of_100_kb_arrives
            no_shell_stands_between
            the_first_argument_is_the_command_as_it_was_named
        }
        streams [] {
            ten_megabytes_pass_through_both_ways
            a_pipe_as_input_passes_through
            the_two_output_streams_stay_apart
            the_callers_own_descriptors_are_used
            input_that_nobody_reads_does_not_block
            no_descriptor_but_the_three_is_inherited
        }
        endings [] {
            exit_codes_are_the_commands_own
            a_signal_is_128_and_its_number
            what_cannot_be_executed_is_126
            what_does_not_exist_is_127
            a_later_directory_of_path_is_found
        }
        world [] {
            devices_work
            the_standard_streams_can_be_opened_by_name
            terminals_can_be_made
            shared_memory_works
            tls_roots_are_there
            awk_works
            opening_with_create_means_what_it_does_outside
            umask_is_kept
            the_host_has_a_name_that_resolves
        }
        world [Fs] {
            no_disk_no_memory_and_no_kernel_interface_is_a_device
            the_user_has_a_name_a_number_and_a_home
            tmp_is_private_and_writable
            home_is_empty_writable_and_not_the_hosts
            home_below_tmp_is_empty_and_writable
            the_rest_of_the_host_is_invisible
            the_system_is_read_only
        }
        world [Processes] { the_process_table_is_its_own }
        network [] { localhost_resolves_and_a_server_on_it_answers network_full_reaches_a_port_of_the_host }
        network [Net] { network_none_reaches_no_port_of_the_host network_none_has_a_loopback_only }
        network [Ipc] { abstract_sockets_of_the_host_are_out_of_reach }
        // An author is found because the machine inside knows the user by name.
        git [Fs] {
            a_commit_in_a_repository_works
            a_commit_in_a_linked_worktree_works
            a_repository_can_be_made_in_a_subdirectory
        }
        git [Protect] {
            hooks_and_config_of_a_repository_hold
            hooks_and_config_behind_a_worktree_hold
            hooks_of_a_submodule_hold
        }
        files [] {
            new_files_belong_to_the_caller
            files_can_be_changed_renamed_linked_and_removed
            the_workspace_appears_at_its_host_path
            the_workspace_appears_at_its_path_without_links
            the_workspace_appears_at_its_host_path_below_tmp
            the_workspace_appears_at_its_host_path_below_var_tmp
            a_bind_appears_below_tmp_and_home
            the_workspace_appears_at_a_path_of_choice
            a_bind_that_can_be_written_reaches_the_host
            a_bind_appears_inside_the_workspace
            strange_names_are_names
        }
        caches [] { a_cache_outlives_its_run runs_at_the_same_time_share_a_cache }
        caches [Fs] { another_repository_does_not_see_a_cache an_untrusted_run_cannot_change_a_cache }
        files [Privileges] { a_root_caller_keeps_the_owner_of_the_workspace }
        files [Fs] {
            the_workspace_appears_at_its_host_path_below_the_home
            a_read_only_workspace_cannot_be_changed
            a_bind_is_read_only_unless_said_otherwise
            a_bind_of_a_file_shows_only_the_file
            a_missing_bind_source_is_refused
        }
        protect [Protect] {
            a_protected_file_holds
            a_protected_directory_holds
            a_protected_path_below_a_directory_holds
            a_protected_path_that_does_not_exist_holds
            a_protected_path_without_parents_holds
            a_protected_name_holds_at_every_depth
            a_file_with_two_names_is_not_half_protected
            a_link_on_the_way_to_a_protected_path_is_refused
            a_denied_file_cannot_be_read
            a_denied_directory_cannot_be_read
            a_denied_path_of_a_bind_cannot_be_read
            a_pattern_that_cannot_hold_is_refused
            a_refused_name_is_told_and_its_grant_allows_it
            no_mask_leaves_a_trace_in_the_workspace
        }
        cow [] {
            the_tree_is_what_it_was_after_any_change
            the_tree_is_what_it_was_after_a_kill
            files_of_a_layer_have_the_owner_of_the_tree
            a_named_workspace_is_shared_by_runs
            a_workspace_begins_with_the_changes_of_another
            a_second_run_in_one_workspace_is_refused
            what_is_thrown_away_or_unchanged_leaves_nothing
            the_layers_are_out_of_reach
            a_bound_on_a_layer_is_kept_or_refused
            a_read_only_layer_cannot_be_changed
            many_layers_over_one_tree_do_not_disturb_each_other
        }
        git [] { a_worktree_is_a_copy_and_another_repository_stands_beside_it }
        cow [Protect] { protected_and_denied_paths_hold_in_a_layer }
        environment [Env] {
            only_listed_variables_enter
            variables_are_passed_and_set
            variables_that_load_code_pass_by_exact_name_only
        }
        environment [Env Fs] { path_is_cut_to_what_exists }
        environment [Env Processes] { the_environment_of_the_first_process_tells_nothing }
        limits [] {
            memory_is_bounded
            memory_of_all_processes_is_bounded
            cpu_time_is_bounded
            processes_are_bounded
            open_files_are_bounded
            private_file_systems_are_bounded
            output_is_bounded
            time_is_bounded
            a_required_limit_that_is_not_set_is_refused
        }
        tree [Processes] {
            a_timeout_ends_the_whole_tree
            the_end_of_the_command_ends_the_whole_tree
            killing_polder_ends_the_whole_tree
            an_orphan_is_reaped
            the_command_cannot_speak_for_the_sandbox
        }
        concurrency [] { twenty_runs_in_one_workspace_do_not_disturb_each_other }
        privileges [Privileges] {
            the_command_has_no_capability
            a_setuid_program_gains_nothing
            setuid_bits_cannot_be_made
            kernel_settings_cannot_be_written
        }
        model [] { a_random_policy_means_what_the_model_says }
        events [] {
            the_same_run_has_the_same_plan
            events_come_in_order_without_holes
            a_command_that_does_not_start_has_events_too
            usage_is_told
        }
    };
    crate::harness::assert_unique(&cases);
    cases.to_vec()
}
